import { withCauses } from '#runtime'
import {
  backoff,
  discard,
  type Fetch,
  findError,
  readBytes,
  reasonOf,
  showUrl,
  toRequest,
  wait,
} from '../shared/client.ts'
import { isObject, type Json, requireSafe, tryJson } from '../shared/json.ts'
import { createRedactor, type Redactor } from '../shared/redact.ts'
import type { Tokens } from '../shared/tokens.ts'
import { secretsOfUrl } from '../shared/url-secrets.ts'
import type { Address } from './address.ts'
import { AdminError, type AdminErrorDetails } from './errors.ts'

/** Maximum size of a response in bytes. */
const LIMIT = 16 * 1024 * 1024
/** Maximum number of characters of a message of a service. */
const MAX_TEXT = 500
/** Shorter parts of URLs, such as version numbers, occur in any text. */
const MIN_PART = 4
/** Number of secrets to hide. The oldest is forgotten when there are more. */
const MAX_SECRETS = 2_000

type Fields = Readonly<Record<string, string>>
type Paths = string | readonly string[]

/** Milliseconds between two reads after a change whose answer was lost. */
const READ_AGAIN = { min: 250, max: 5_000 }

/** It is not known whether a change was made: its answer was lost, or is not that of a service. */
class LostAnswer {
  readonly error: AdminError
  constructor(error: AdminError) {
    this.error = error
  }
}

/** Sends the requests of an administration. Every error is an {@link AdminError} without secrets. */
export class Requester {
  readonly address: Address
  readonly timeout: number
  readonly #tokens: Tokens
  readonly #tokenUrl: URL
  readonly #referer: string | undefined
  readonly #fetch: Fetch
  readonly #secrets = new Set<string>()
  #redactor: Redactor | undefined
  #lastToken: string | undefined

  constructor(
    address: Address,
    connection: { tokens: Tokens; referer: string | undefined; fetch: Fetch | undefined; timeout: number },
  ) {
    this.address = address
    this.timeout = connection.timeout
    this.#tokens = connection.tokens
    this.#tokenUrl = new URL(address.tokenUrl)
    this.#referer = connection.referer
    this.#fetch = connection.fetch ?? ((url, init) => fetch(url, init))
  }

  /**
   * Reads. Services of ArcGIS Online and portals read with POST only; others do it only if they do not accept the token in
   * a header.
   *
   * @param paths below the base address. If one is not found, the next one is tried
   */
  read(paths: Paths, fields: Fields = {}): Promise<unknown> {
    const { product } = this.address
    return atFirst(paths, async (path) => {
      if (product === 'online' || product === 'portal') return this.#send(path, fields, true)
      return this.#send(path, fields, false).catch((error: unknown) => {
        if (error instanceof AdminError && error.serviceCode === 499) return this.#send(path, fields, true)
        throw error
      })
    })
  }

  /**
   * Changes something. If the answer is lost, reads until it is certain that the change was made.
   *
   * @param paths as in {@link read}
   * @param isMade reads whether the change was made
   * @returns the answer, unless it was lost
   * @throws {WebhookError} also `admin_unknown`
   */
  async change(paths: Paths, fields: Fields, isMade: () => Promise<boolean>): Promise<unknown> {
    try {
      return await atFirst(paths, (path) => this.#send(path, fields, true, true))
    } catch (lost) {
      if (!(lost instanceof LostAnswer)) throw lost
      await this.#readBack(lost.error, isMade)
      return undefined
    }
  }

  /** Sends one POST, for example to sign in. */
  post(path: string, fields: Fields): Promise<unknown> {
    return this.#send(path, fields, true)
  }

  async #readBack(cause: AdminError, isMade: () => Promise<boolean>): Promise<void> {
    const signal = AbortSignal.timeout(this.timeout)
    for (let repetition = 0; !(await isMade().catch(() => false)); repetition++) {
      // Waiting does not turn a login page into the answer of a service.
      if (cause.code === 'admin_malformed') throw cause
      await wait(backoff(READ_AGAIN, repetition), signal).catch(() => {
        throw this.error('admin_unknown', {
          message: 'the answer to the change was lost, and the service does not show the change',
          hint: 'Read the webhook before you try again: the service may still make the change.',
          cause,
        })
      })
    }
  }

  /** Registers a key and a payload URL of a webhook. No error contains the key or a secret part of the URL. */
  keepSecrets(key: string | undefined, url: string | undefined): void {
    const parts = url === undefined ? [] : secretsOfUrl(url).filter(({ length }) => length >= MIN_PART)
    for (const secret of key ? [key, ...parts] : parts) {
      this.#secrets.delete(secret)
      this.#secrets.add(secret)
    }
    for (const oldest of this.#secrets) if (this.#secrets.size > MAX_SECRETS) this.#secrets.delete(oldest)
    this.#redactor = undefined
  }

  /** Hides the known secrets in a text of a service, and shortens it. */
  hide(text: string): string {
    const tokens = this.#tokens.known()
    if (tokens.at(-1) !== this.#lastToken) this.#redactor = undefined
    this.#lastToken = tokens.at(-1)
    this.#redactor ??= createRedactor([...this.#secrets, ...tokens])
    return this.#redactor.text(text, MAX_TEXT)
  }

  error(code: AdminError['code'], { message, ...details }: AdminErrorDetails): AdminError {
    const { product, base } = this.address
    return new AdminError(code, { ...details, message: `${message} (${product} at ${base})` })
  }

  async #send(
    path: string,
    fields: Fields,
    isPost: boolean,
    isChange = false,
    isRenewed = false,
  ): Promise<unknown> {
    const url = new URL(this.address.base + path)
    const all = { ...fields, f: 'json' }
    if (!isPost) url.search = String(new URLSearchParams(all))
    const signal = AbortSignal.timeout(this.timeout)
    try {
      const token = await this.#tokens.get(this.#tokenUrl, signal)
      const request = toRequest(isPost ? all : undefined, token, this.#referer)
      const found = await this.#exchange(url, { ...request, signal }, isChange)
      if (!(found instanceof AdminError)) return found
      const isRejected = found.serviceCode === 498 || (found.serviceCode === 499 && isPost)
      if (!isRejected || isRenewed || !(await this.#tokens.renew(this.#tokenUrl, token, signal))) throw found
    } catch (error) {
      throw error instanceof LostAnswer ? error : this.#toUnavailable(error, url, signal)
    }
    return this.#send(path, fields, isPost, isChange, true)
  }

  /**
   * Sends one request. Returns the answer, or the error in it.
   *
   * @throws {LostAnswer} if a change may have been made nevertheless
   */
  async #exchange(url: URL, request: RequestInit, isChange: boolean): Promise<unknown> {
    let found: unknown
    try {
      const response = await this.#fetch(url, { ...request, redirect: 'manual' })
      found = this.#read(response, await this.#readText(response, url), url)
    } catch (error) {
      const unavailable = this.#toUnavailable(error, url, request.signal)
      throw isChange && !NOT_SENT.test(reasonOf(error)) ? new LostAnswer(unavailable) : unavailable
    }
    if (isChange && found instanceof AdminError && isUncertain(found)) throw new LostAnswer(found)
    return found
  }

  #toUnavailable(error: unknown, url: URL, signal: AbortSignal | null | undefined): AdminError {
    if (error instanceof AdminError) return error
    const isLate = signal?.aborted === true
    const reason = isLate ? `there was no response within ${this.timeout} ms` : this.hide(reasonOf(error))
    return this.error('admin_unavailable', {
      message: `${showUrl(url)} cannot be reached, or the connection ended early: ${reason}`,
      hint: isLate
        ? 'Try again, or raise the option timeout.'
        : 'Check the address, the network, and the certificate if the server has a private one.',
    })
  }

  /** @throws {AdminError} `admin_malformed` for a redirect, which is not followed, and for a large response */
  async #readText(response: Response, url: URL): Promise<string> {
    const { status, headers } = response
    if (status >= 300 && status < 400) {
      await discard(response)
      const location = headers.get('location') ?? ''
      const target = URL.canParse(location, url.href) ? showUrl(new URL(location, url)) : 'nowhere'
      throw this.#toMalformed(url, `redirects to ${this.hide(target)}`)
    }
    const tooLarge = (): AdminError => this.#toMalformed(url, `returned more than ${LIMIT} bytes`)
    return new TextDecoder().decode(await readBytes(response, LIMIT, tooLarge))
  }

  #toMalformed(url: URL, what: string): AdminError {
    return this.error('admin_malformed', {
      message: `${showUrl(url)} ${what}`,
      hint: 'Check that it is the address of the administration, and that no login page or proxy answers in its place.',
    })
  }

  /** Reads an answer, or the error in it. Most errors have the HTTP status 200; some are HTML pages. */
  #read({ ok, status }: Response, text: string, url: URL): unknown {
    const answer = tryJson(text)
    const found = isObject(answer) ? findError(answer, false) : undefined
    if (found) return this.#toServiceError(url, found.code || (ok ? undefined : status), found.message)
    if (!ok) return this.#toServiceError(url, status, toWords(text), true)
    if (typeof answer !== 'object' || answer === null)
      return this.#toMalformed(
        url,
        `returned ${/^\s*</.test(text) ? 'an HTML page' : 'no JSON'}: ${this.hide(toWords(text))}`,
      )
    const { success, status: outcome } = answer as Json
    if (success === false || outcome === 'failed')
      return this.#toServiceError(url, undefined, 'it gives no reason')
    try {
      requireSafe(answer)
      return answer
    } catch {
      return this.#toMalformed(url, 'returned JSON that is nested too deeply, or has a forbidden key')
    }
  }

  /** @param isHttp whether the code is the HTTP status */
  #toServiceError(url: URL, code: number | undefined, text: string, isHttp = false): AdminError {
    const [name, hint] = meaningOf(code, isHttp)
    const message = `${showUrl(url)} returned ${code ? `the error ${code}` : 'an error'}: ${this.hide(text)}`
    return this.error(name, { message, hint, serviceCode: code })
  }
}

/** Sends a request to the first path that exists. */
async function atFirst<Answer>(paths: Paths, send: (path: string) => Promise<Answer>): Promise<Answer> {
  const [path = '', ...others] = [paths].flat()
  return send(path).catch((error: unknown) => {
    const isMissing = error instanceof AdminError && error.code === 'admin_not_found'
    if (isMissing && others.length > 0) return atFirst(others, send)
    throw error
  })
}

/** The reasons of a failed connection over which nothing was sent. */
const NOT_SENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/

/** True if a change may have been made: something else answered, or the service failed while it was at work. */
const isUncertain = ({ code, serviceCode = 0 }: AdminError): boolean =>
  code === 'admin_malformed' || (code === 'admin_unavailable' && [500, 502, 504].includes(serviceCode))

function meaningOf(code: number | undefined, isHttp: boolean): [code: AdminError['code'], hint: string] {
  if (code === 499) return ['admin_unauthorized', 'Pass a token, or the result of signIn().']
  if (code === 498 || code === 401)
    return [
      'admin_unauthorized',
      'The token is wrong, has expired, or is bound to another referer or address.',
    ]
  if (code === 403)
    return [
      'admin_forbidden',
      'The user needs the privilege for geoprocessing or feature services. A web adaptor can also forbid administration.',
    ]
  if (code === 404) return ['admin_not_found', 'Check the name of the service and the webhook.']
  // In JSON, services write 500 for what they do not accept.
  if (code === 429 || (code !== undefined && code >= (isHttp ? 500 : 501)))
    return ['admin_unavailable', 'Try again later.']
  return ['admin_refused', 'Change what the service refuses.']
}

/** The first words of an HTML page or of another text, without markup. */
function toWords(text: string): string {
  const [start = '', ...parts] = text.slice(0, 20_000).split('<')
  const words = [start, ...parts.map((part) => part.slice(part.indexOf('>') + 1))].join(' ')
  return words.replace(/\s+/g, ' ').trim() || 'nothing'
}

/** The error for a source that gives no token. */
export function toTokenError(error: unknown): Error {
  if (error instanceof AdminError) return error
  const reason = error instanceof Error ? String(error.message) : 'the token source failed'
  return new AdminError('admin_unauthorized', {
    message: `no token: ${withCauses(error, reason)}`,
    hint: 'Check the function or the credentials that are passed as token.',
  })
}
