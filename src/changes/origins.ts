import { configInvalid } from '../errors.ts'
import { showUrl } from '../shared/client.ts'
import { isSecure } from '../shared/loopback.ts'
import { ChangesError } from './errors.ts'

const HINT = "Each is a scheme and a host, as in origins: ['https://gis.example.com']."

/** The origins that a client may send requests to. */
export class Origins {
  readonly #allowed: ReadonlySet<string>

  /** @throws {WebhookError} `config_invalid` */
  constructor(origins: readonly string[] | undefined) {
    if (!Array.isArray(origins) || origins.length === 0)
      throw configInvalid('origins must be a list of at least one origin that may get the token', HINT)
    this.#allowed = new Set(Array.from(origins, readOrigin))
  }

  /**
   * Parses a URL from a payload or from a response.
   *
   * @param name what the URL is called in the error
   * @throws {WebhookError} `changes_url_refused` for a URL outside the origins
   */
  require(text: unknown, name: string): URL {
    const url = parse(text)
    if (!url) throw refuse(`the ${name} is not a plain http or https URL`, 'No request was sent.')
    if (this.#allowed.has(url.origin)) return url
    throw refuse(
      `the ${name} ${showUrl(url)} is outside the allowed origins`,
      `If this is your service, add '${url.origin}' to origins. No request was sent there.`,
    )
  }
}

export const refuse = (message: string, hint: string): ChangesError =>
  new ChangesError('changes_url_refused', { message, hint })

/** Parses a URL without user info and without characters that parsers read differently. */
function parse(text: unknown): URL | undefined {
  // A backslash counts as a slash for this parser, and not for others. Spaces and controls are removed silently.
  if (typeof text !== 'string' || /[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || /^[a-z]+:\/\/[^/?#]*@/i.test(text)) return undefined
  // Parsers also find user info after one slash, three or none.
  if (url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  return url
}

function readOrigin(origin: unknown): string {
  const url = parse(origin)
  if (url?.pathname !== '/' || url.search !== '' || /[*]/.test(url.host))
    throw configInvalid('origins contains an item that is not an origin', HINT)
  if (!isSecure(url))
    throw configInvalid(
      `the origin ${url.origin} is not https`,
      'The token would be readable on the network. Only localhost, 127.0.0.1 and [::1] may use http.',
    )
  return url.origin
}
