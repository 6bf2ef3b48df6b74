import { type Command, Option } from 'commander'
import { CliError, EXIT, usageError } from '../errors.ts'
import { exchange } from '../io/http.ts'
import { addSecretOptions, findSecrets, toText } from '../options/secrets.ts'
import { httpUrl, toRecord } from '../options/values.ts'

/** How to reach a service. */
export interface ClientOptions {
  url: URL
  token?: string[]
  tokenEnv?: string[]
  tokenFile?: string[]
}

/** What a service answers: an object. */
export type Answer = Record<string, unknown>

/** Speaks to the administration of a service, and to the control of a mock service. */
export interface ServiceClient {
  get(path: string): Promise<Answer>
  /** A form, as the specification asks for. */
  post(path: string, form?: Record<string, string>): Promise<Answer>
  /** JSON, for what only a mock service has. */
  control(path: string, body: object): Promise<Answer>
  /** Takes back what only a mock service has. */
  remove(path: string): Promise<Answer>
}

const TOKEN_VARIABLE = 'GEOHOOK_TOKEN'
/** A wait may take as long as a schedule and its retries. */
const WAIT = 10 * 60_000
const LIMIT = 64 * 1024 * 1024

/** Adds `--url` and the options of a token. */
export function addClientOptions(command: Command): Command {
  command.addOption(
    new Option('--url <url>', 'the base address of the service')
      .env('GEOHOOK_URL')
      .argParser(httpUrl)
      .default(new URL('http://127.0.0.1:4000'), 'http://127.0.0.1:4000'),
  )
  return addSecretOptions(command, {
    option: 'token',
    what: 'the token, where the service asks for one',
    variable: TOKEN_VARIABLE,
    several: false,
  })
}

/** @throws {CliError} exit code 2 for a token that cannot be right */
export async function createClient({
  url,
  token,
  tokenEnv,
  tokenFile,
}: ClientOptions): Promise<ServiceClient> {
  const [secret, ...more] = await findSecrets({
    option: 'token',
    text: token,
    env: tokenEnv,
    file: tokenFile,
    variable: TOKEN_VARIABLE,
    several: false,
  })
  if (more.length > 0) throw usageError('only one token is of use')
  const authorization: [string, string][] = secret
    ? [['authorization', `Bearer ${toText(secret, 'token')}`]]
    : []
  if (url.search || url.hash)
    throw usageError('--url has a query or a fragment', 'Give the base address only.')
  let base = url.href
  while (base.endsWith('/')) base = base.slice(0, -1)
  /** A service may quote the token in what it says. */
  const redact = (text: string): string => (secret ? text.replaceAll(toText(secret, 'token'), '***') : text)

  async function ask(method: string, path: string, type: string, body: string): Promise<Answer> {
    const headers: [string, string][] = [['accept', 'application/json'], ...authorization]
    if (method === 'POST') headers.push(['content-type', type])
    const target = new URL(base + path)
    const answer = await exchange(
      target,
      { method, headers, body: Buffer.from(body) },
      { timeout: WAIT, limit: LIMIT },
    )
    return toAnswer(answer.status, redact(answer.body.toString()), target)
  }

  return {
    get: (path) => ask('GET', `${path}?f=json`, '', ''),
    post: (path, form = {}) =>
      ask(
        'POST',
        path,
        'application/x-www-form-urlencoded',
        new URLSearchParams({ ...form, f: 'json' }).toString(),
      ),
    control: (path, body) => ask('POST', path, 'application/json', JSON.stringify(body)),
    remove: (path) => ask('DELETE', path, '', ''),
  }
}

/** A service may say error with the HTTP status 200, so the body counts. */
function toAnswer(status: number, text: string, { origin, pathname }: URL): Answer {
  let answer: Answer | undefined
  try {
    answer = toRecord(JSON.parse(text))
  } catch {}
  if (!answer) throw noService(`${origin} answered ${status}, but not as a service does`)
  if (answer.status !== 'error' && status < 400) return answer
  const messages = Array.isArray(answer.messages)
    ? answer.messages.filter((message) => typeof message === 'string')
    : []
  const code = typeof answer.code === 'number' ? answer.code : status
  throw new CliError(
    EXIT.no,
    `service_${code}`,
    `the service said ${code} to ${pathname}: ${messages.join('; ') || 'nothing more'}`,
    HINTS.get(code),
  )
}

const HINTS: ReadonlyMap<number, string> = new Map([
  [401, 'Give a token with --token-file or --token-env.'],
  [403, 'The token must be one of a user who may administer this service.'],
  [404, '"geohook list" shows what is there.'],
  [498, 'The token has expired or is none: get a new one.'],
  [499, 'The service asks for a token: give it with --token-file or --token-env.'],
])

/** The error for what does not answer as a service does. */
export const noService = (message: string): CliError =>
  new CliError(
    EXIT.no,
    'no_service',
    message,
    'Is it the base address of the service? "geohook mock" starts one.',
  )

/** The error for something that is not there. */
export const notFound = (message: string): CliError =>
  new CliError(EXIT.no, 'not_found', message, '"geohook list" shows what is there.')
