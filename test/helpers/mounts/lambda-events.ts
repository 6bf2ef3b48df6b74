import { isUtf8 } from 'node:buffer'
import type { HostRequest } from './host.ts'

/** Documented event formats in which AWS passes HTTP requests to a function. */
export type LambdaFormat = keyof typeof EVENTS

const TEXT = /^(text\/.*|application\/(json|javascript|xml))$/i

const headerOf = ({ headers }: HostRequest, wanted: string): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1]

/** Encodes the body as text if the media type is textual and the bytes are uncompressed UTF-8, otherwise as base64. */
function bodyOf(request: HostRequest): { body: string; isBase64Encoded: boolean } {
  const type = headerOf(request, 'content-type')?.split(';')[0]?.trim() ?? ''
  const isText = TEXT.test(type) && isUtf8(request.body) && !headerOf(request, 'content-encoding')
  return isText || request.body.length === 0
    ? { body: new TextDecoder('utf-8', { ignoreBOM: true }).decode(request.body), isBase64Encoded: false }
    : { body: request.body.toString('base64'), isBase64Encoded: true }
}

type Pair = readonly [string, string]

/** Keeps only the last value of each name. */
const single = (pairs: readonly Pair[]): Record<string, string> => Object.fromEntries(pairs)

const multi = (pairs: readonly Pair[]): Record<string, string[]> => {
  const all = new Map<string, string[]>()
  for (const [name, value] of pairs) all.set(name, [...(all.get(name) ?? []), value])
  return Object.fromEntries(all)
}

const joined = (pairs: readonly Pair[]): Record<string, string> =>
  Object.fromEntries(Object.entries(multi(pairs)).map(([name, values]) => [name, values.join(',')]))

const lowerCase = (pairs: readonly Pair[]): Pair[] =>
  pairs.map(([name, value]) => [name.toLowerCase(), value])

const decoded = ({ query }: HostRequest): Pair[] => [...new URLSearchParams(query)]

const asReceived = ({ query }: HostRequest): Pair[] =>
  query
    .split('&')
    .filter(Boolean)
    .map((pair) => {
      const [name = '', ...value] = pair.split('=')
      return [name, value.join('=')]
    })

const orNull = <T extends object>(value: T): T | null => (Object.keys(value).length > 0 ? value : null)

const FORWARDED: readonly Pair[] = [
  ['X-Forwarded-For', '192.0.2.1'],
  ['X-Forwarded-Port', '443'],
  ['X-Forwarded-Proto', 'https'],
  ['X-Amzn-Trace-Id', 'Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e'],
]

function restEvent(request: HostRequest): unknown {
  const headers = [...request.headers.filter(([name]) => !/^content-length$/i.test(name)), ...FORWARDED]
  const query = decoded(request)
  return {
    resource: '/{proxy+}',
    path: request.path,
    httpMethod: request.method,
    headers: orNull(single(headers)),
    multiValueHeaders: orNull(multi(headers)),
    queryStringParameters: orNull(single(query)),
    multiValueQueryStringParameters: orNull(multi(query)),
    pathParameters: { proxy: request.path.slice(1) },
    stageVariables: null,
    requestContext: {
      resourcePath: '/{proxy+}',
      httpMethod: request.method,
      path: `/prod${request.path}`,
      protocol: 'HTTP/1.1',
      stage: 'prod',
      identity: { sourceIp: '192.0.2.1' },
    },
    // This API is configured with the binary media type */*, so every body is base64.
    body: request.body.length > 0 ? request.body.toString('base64') : null,
    isBase64Encoded: request.body.length > 0,
  }
}

/** Creates an event in format 2.0, for HTTP APIs and function URLs. */
function version2(request: HostRequest, routeKey: string, domainName: string): unknown {
  const headers = lowerCase([...request.headers, ...FORWARDED])
  const cookies = headers.filter(([name]) => name === 'cookie').flatMap(([, value]) => value.split('; '))
  const query = joined(decoded(request))
  return {
    version: '2.0',
    routeKey,
    rawPath: request.path,
    rawQueryString: request.query,
    ...(cookies.length > 0 ? { cookies } : {}),
    headers: joined(headers.filter(([name]) => name !== 'cookie')),
    ...(Object.keys(query).length > 0 ? { queryStringParameters: query } : {}),
    requestContext: {
      accountId: '123456789012',
      apiId: 'api-id',
      domainName,
      http: {
        method: request.method,
        path: request.path,
        protocol: 'HTTP/1.1',
        sourceIp: '192.0.2.1',
        userAgent: headerOf(request, 'user-agent') ?? '',
      },
      routeKey,
      stage: '$default',
    },
    ...(request.body.length > 0 ? bodyOf(request) : { isBase64Encoded: false }),
  }
}

const elb = {
  targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/hooks/6d0ecf831eec9f09',
}

const albEvent = (request: HostRequest, bags: object): unknown => ({
  requestContext: { elb },
  httpMethod: request.method,
  path: request.path,
  ...bags,
  ...bodyOf(request),
})

const albHeaders = (request: HostRequest): Pair[] => lowerCase([...request.headers, ...FORWARDED])

export const EVENTS = {
  'REST API': restEvent,
  'HTTP API': (request: HostRequest): unknown =>
    version2(request, '$default', 'id.execute-api.us-east-1.amazonaws.com'),
  'function URL': (request: HostRequest): unknown =>
    version2(request, '$default', 'id.lambda-url.us-east-1.on.aws'),
  ALB: (request: HostRequest): unknown =>
    albEvent(request, {
      queryStringParameters: single(asReceived(request)),
      headers: single(albHeaders(request)),
    }),
  'ALB multi-value': (request: HostRequest): unknown =>
    albEvent(request, {
      multiValueQueryStringParameters: multi(asReceived(request)),
      multiValueHeaders: multi(albHeaders(request)),
    }),
} as const
