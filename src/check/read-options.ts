import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  isBoolean,
  isFunction,
  isText,
  milliseconds,
  must,
  nearest,
  type OptionNames,
  oneOf,
} from '../options.ts'
import { type HeaderPairs, isHeaderValue } from '../shared/headers.ts'
import { createRedactor } from '../shared/redact.ts'
import { DIALECTS, PROFILES } from '../shared/senders.ts'
import { readTrust } from '../shared/tls-trust.node.ts'
import { createKeyring } from '../signature/keyring.ts'
import { requireHeaderName } from '../signature/signature.ts'
import type { Probe } from './probe.ts'
import { ALL } from './scenarios/all.ts'
import { createSender, type Sender } from './sender.ts'
import { type CheckOptions, GROUPS } from './types.ts'

const isList = must('be a list', Array.isArray)

const OPTIONS: OptionNames<CheckOptions> = {
  url: true,
  signatureKey: true,
  profile: oneOf(...PROFILES),
  dialect: oneOf(...DIALECTS),
  signatureHeader: true,
  encoding: oneOf('hex', 'base64'),
  prefix: isText,
  changeType: isText,
  sideEffects: isBoolean,
  observer: isFunction,
  failHandler: isFunction,
  unknownUrl: true,
  only: isList,
  skip: isList,
  strict: isBoolean,
  timeout: milliseconds(100, 60_000),
  headers: must('be an object', (headers) => typeof headers === 'object' && headers !== null),
  ca: true,
  onResult: isFunction,
}

/** @throws {WebhookError} `config_invalid` */
export function readOptions(
  options: CheckOptions = {} as CheckOptions,
): ConstructorParameters<typeof Probe>[0] {
  const { timeout = 10_000, ca = [] } = checkOptions(options, OPTIONS)
  requireNames(options)
  createKeyring([options.signatureKey])
  if (options.signatureHeader !== undefined) requireHeaderName(options.signatureHeader)
  const sender = createSender(options)
  const trust = readTrust(ca)
  const url = readUrl('url', options.url)
  const unknownUrl = options.unknownUrl === undefined ? undefined : readUrl('unknownUrl', options.unknownUrl)
  if (unknownUrl && (unknownUrl.origin !== url.origin || pathOf(unknownUrl) === pathOf(url)))
    throw configInvalid('unknownUrl must have the same origin as url, and a different path or query')
  const headers = readHeaders(options.headers, sender)
  const { text: hide } = createRedactor([
    sender.key,
    ...secretsIn([url, ...(unknownUrl ? [unknownUrl] : [])], headers),
  ])
  for (const [name, value] of [
    ['prefix', sender.prefix],
    ['signatureKey', sender.isSigned ? '' : sender.credential(new Uint8Array())],
  ] as const)
    if (!isHeaderValue(value)) throw configInvalid(`${name} contains characters that a header cannot have`)
  return {
    target: { url, timeout, trust, headers, hide },
    sender,
    observer: options.observer,
    failHandler: options.failHandler,
    unknownPath: unknownUrl && pathOf(unknownUrl),
  }
}

/** Shorter values are in unrelated text by chance. */
const MIN_SECRET = 8

/** Returns what may be a secret besides the key: values of headers and of the query, and credentials in headers. */
function secretsIn(urls: readonly URL[], headers: HeaderPairs): string[] {
  const values = headers.flatMap(([, value]) => [value, value.slice(value.indexOf(' ') + 1)])
  return [...urls.flatMap(({ searchParams }) => [...searchParams.values()]), ...values].filter(
    ({ length }) => length >= MIN_SECRET,
  )
}

const pathOf = ({ pathname, search }: URL): string => pathname + search

function readUrl(name: string, given: unknown): URL {
  const url = URL.canParse(String(given)) ? new URL(String(given)) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw configInvalid(`${name} must be an http: or https: URL`)
  if (url.username !== '' || url.password !== '')
    throw configInvalid(`${name} must not contain a user name or password`, 'Use headers for authorization.')
  return url
}

/** The headers that the scenarios write themselves. */
const OWN = /^(host|content-length|content-type|transfer-encoding|connection|expect)$/i

function readHeaders(headers: CheckOptions['headers'] = {}, sender: Sender): HeaderPairs {
  return Object.entries(headers).map(([name, value]) => {
    requireHeaderName(name, 'a name in headers')
    if (OWN.test(name) || name.toLowerCase() === sender.header.toLowerCase())
      throw configInvalid(`headers must not contain ${name}: the scenarios set it`)
    if (typeof value !== 'string' || !isHeaderValue(value))
      throw configInvalid(`the header ${name} has an invalid value`)
    return [name, value] as const
  })
}

/** @throws {WebhookError} `config_invalid` for a name that is neither an id nor a group */
function requireNames({ only = [], skip = [] }: CheckOptions): void {
  const known = [...GROUPS, ...ALL.map(({ id }) => id)]
  for (const name of [...only, ...skip]) {
    if (known.includes(name)) continue
    const meant = nearest(String(name), known)
    const hint = meant === undefined ? `The groups are ${GROUPS.join(', ')}.` : `Did you mean ${meant}?`
    throw configInvalid('only and skip must contain ids or groups of scenarios', hint)
  }
}
