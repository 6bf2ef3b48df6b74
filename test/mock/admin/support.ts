import { createManualClock, createTokens, type MockService } from 'geohook/mock'
import { FORM_TYPE } from '../../helpers/deliver.ts'
import { type Answer, raw, type Sent, send } from '../../helpers/http.ts'
import { NOWHERE, start } from '../support.ts'

export const USERS = [
  { username: 'both', password: 'pw-both', privileges: ['geoprocessing', 'features'] },
  { username: 'gp', password: 'pw-gp', privileges: ['geoprocessing'] },
  { username: 'fs', password: 'pw-fs', privileges: ['features'] },
  { username: 'neither', password: 'pw-neither', privileges: [] },
] as const

export const NOW = 1800000000000
export const PARCELS = '/services/Parcels.FeatureServer/webhooks'
export const BUFFER = '/services/Buffer.GPServer/webhooks'
/** The required parameters of `create`. */
export const LEAST = { name: 'new', hookUrl: NOWHERE }

const SERVICES = [
  { serviceName: 'Parcels', serviceType: 'FeatureServer' },
  { serviceName: 'Buffer', serviceType: 'GPServer' },
  { folderName: 'City', serviceName: 'Parcels', serviceType: 'FeatureServer' },
] as const

/** Starts a service without webhooks, whose clock shows {@link NOW}. */
export const startEmpty = (): Promise<MockService> =>
  start([], { services: SERVICES, clock: createManualClock(NOW) })

export const auth = () => createTokens({ users: USERS })

/** Gets a token for a user. Throws if the mock rejects the request. */
export async function tokenOf(service: MockService, username: string, expiration = 60): Promise<string> {
  const { text } = await postForm(`${service.url}/generateToken`, {
    username,
    password: `pw-${username}`,
    expiration: String(expiration),
  })
  const { token } = JSON.parse(text) as { token?: string }
  if (!token) throw new Error(text)
  return token
}

type Fields = Record<string, string> | [string, string][]

export const postForm = (url: string, fields: Fields, headers: Sent['headers'] = {}): Promise<Answer> =>
  send(url, {
    headers: { 'content-type': FORM_TYPE, ...headers },
    body: new URLSearchParams(fields).toString(),
  })

export const get = (url: string, headers: Sent['headers'] = {}): Promise<Answer> =>
  send(url, { method: 'GET', headers })

/** Returns the name that the specification uses for a value's type. */
export function typeOf(value: unknown): string {
  if (Number.isSafeInteger(value)) return 'integer'
  if (!Array.isArray(value)) return typeof value
  return value.every((item) => typeof item === 'string') ? 'array of string' : 'array'
}

/** Name and type of each field, in the order of the specification ("Webhook"). */
export const WEBHOOK_FIELDS: [name: string, type: string][] = [
  ['id', 'string'],
  ['folderName', 'string'],
  ['serviceName', 'string'],
  ['serviceType', 'string'],
  ['name', 'string'],
  ['changeTypes', 'array of string'],
  ['signatureKey', 'string'],
  ['hookUrl', 'string'],
  ['active', 'boolean'],
  ['contentType', 'string'],
  ['scheduleInfo', 'object'],
  ['payloadFormat', 'string'],
  ['created', 'integer'],
  ['modified', 'integer'],
  ['ownerId', 'string'],
  ['modifiedId', 'string'],
]

/** The fields of a webhook in a list (docs/senders.md, "Administration"). */
export const LISTED_FIELDS: [name: string, type: string][] = [
  ...WEBHOOK_FIELDS.filter(([name]) => name !== 'changeTypes'),
  ['changeTypes', 'array of string'],
]

export const STATUS_FIELDS: [name: string, type: string][] = [['status', 'string']]

export const SCHEDULE_FIELDS: [name: string, type: string][] = [
  ['name', 'string'],
  ['state', 'string'],
  ['startAt', 'integer'],
  ['recurrenceInfo', 'object'],
]

export const SETTINGS_FIELDS: [name: string, type: string][] = [
  'notificationAttempts',
  'notificationTimeOutInSeconds',
  'notificationElapsedTimeInSeconds',
  'numberOfFailures',
  'daysInPast',
].map((name) => [name, 'integer'])

/** Returns the names and types of an object's members, to compare with the tables above. */
export const fieldsOf = (value: object): [name: string, type: string][] =>
  Object.entries(value).map(([name, member]) => [name, typeOf(member)])

/** The `accept` header of a browser. */
export const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

/** Decodes HTML entities, as a browser does. */
export const decode = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** Sends a raw request, because an HTTP client would normalize its path and headers. */
export const write = (
  { url }: Pick<MockService, 'url'>,
  line: string,
  { headers = '', body = '' }: { headers?: string; body?: string } = {},
): Promise<string> =>
  raw(
    url,
    `${line} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\ncontent-type: ${FORM_TYPE}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`,
  )

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
