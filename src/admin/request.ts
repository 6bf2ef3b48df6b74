import { withCauses } from '#runtime'
import {
  abortable,
  backoff,
  discard,
  type Fetch,
  findError,
  readBytes,
  reasonOf,
  showUrl,
  toRequest,
} from '../shared/client.ts'
import { isObject, type Json, requireSafe, tryJson } from '../shared/json.ts'
import { createRedactor, type Redactor } from '../shared/redact.ts'
import type { Tokens } from '../shared/tokens.ts'
import { maskUrl, secretsOfUrl } from '../shared/url-secrets.ts'
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

/** Milliseconds between two reads after a change whose response was lost. */
const READ_AGAIN = { min: 250, max: 5_000 }

/** Sends the requests of an administration. Every error is an {@link AdminError} without secrets. */
export class Requester {
  readonly address: Address
  readonly timeout: number
  readonly #tokens: Tokens
  readonly #tokenUrl: URL
  readonly #referer: string | undefined
  readonly #fetch: Fetch
  /** The errors of changes that may have been made. */
  readonly #lost = new WeakSet<AdminError>()
  readonly #secrets = new Set<string>()
  #redactor: Redactor | undefined
  #last: Promise<unknown> = Promise.resolve()
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
   * Changes something. If the response is lost, reads until it is certain that the change was made.
   *
   * @param paths as in {@link read}
   * @param isMade reads whether the change was made
   * @param isVerified whether to read it too if the response does not say that it was made
   * @returns the response, unless it was lost
   * @throws {WebhookError} also `admin_unknown`, and `admin_not_applied` for a change that is verified
   */
  async change(
    paths: Paths,
    fields: Fields,
    isMade: () => Promise<boolean>,
    isVerified = false,
  ): Promise<unknown> {
    let answer: unknown
    try {
      answer = await atFirst(paths, (path) => this.#send(path, fields, true, true))
    } catch (error) {
      if (!(error instanceof AdminError && this.#lost.has(error))) throw error
      // Waiting does not turn a login page into the response of a service.
      if (await this.#becomes(isMade, error.code === 'admin_unavailable' ? this.timeout : 0)) return undefined
      if (error.code !== 'admin_unavailable') throw error
      throw this.error(
        'admin_unknown',
        'the response to the change was lost, and the service does not show the change',
        'Read the webhook before you try again: the service may still make the change.',
        { cause: error },
      )
    }
    if (isVerified && !isSuccess(answer) && !(await this.#becomes(isMade, READ_AGAIN.max)))
      throw this.error(
        'admin_not_applied',
        'the service accepted the change, but does not show it',
        'List the webhooks to see what it did.',
      )
    return answer
  }

  /** Sends one POST, for example to sign in. */
  post(path: string, fields: Fields): Promise<unknown> {
    return this.#send(path, fields, true)
  }

  /** Runs changes one after another: two edits at once would overwrite each other. */
  readonly oneByOne = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const result = this.#last.then(run)
    this.#last = result.catch(() => {})
    return result
  }

  /** Reads until something is true, or the time in milliseconds has passed. Reads at least once. */
  async #becomes(isTrue: () => Promise<boolean>, time: number): Promise<boolean> {
    const end = performance.now() + time
    for (let repetition = 0; ; repetition++) {
      if (await isTrue().catch(() => false)) return true
      const pause = backoff(READ_AGAIN, repetition)
      if (performance.now() + pause > end) return false
      await new Promise((resolve) => setTimeout(resolve, pause))
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
    // A service can quote a payload URL that this client has not read, such as an earlier one.
    return this.#redactor
      .text(text, 2 * MAX_TEXT)
      .replace(/https?:\/\/[^\s"'<>]+/gi, maskUrl)
      .slice(0, MAX_TEXT)
  }

  error(code: AdminError['code'], text: string, hint = '', details?: AdminErrorDetails): AdminError {
    const { product, base } = this.address
    return new AdminError(code, { ...details, hint, message: `${text} (${product} at ${base})` })
  }

  async #send(path: string, fields: Fields, isPost: boolean, isChange = false): Promise<unknown> {
    const url = new URL(this.address.base + path)
    const all = { ...fields, f: 'json' }
    if (!isPost) url.search = String(new URLSearchParams(all))
    const controller = new AbortController()
    const { signal } = controller
    // Unlike that of AbortSignal.timeout(), this timer keeps the process alive.
    const timer = setTimeout(() => controller.abort(), this.timeout)
    let isSent = false

    const exchange = async (isRenewed: boolean): Promise<unknown> => {
      const token = await this.#tokens.get(this.#tokenUrl, signal)
      const request = toRequest(isPost ? all : undefined, token, this.#referer)
      isSent = true
      const response = await this.#fetch(url, { ...request, redirect: 'manual', signal })
      const found = this.#read(response, await this.#readText(response, url), url)
      if (!(found instanceof AdminError)) return found
      const isRejected = found.serviceCode === 498 || (found.serviceCode === 499 && isPost)
      if (!isRejected || isRenewed) throw found
      isSent = false
      if (!(await this.#tokens.renew(this.#tokenUrl, token, signal))) throw found
      return exchange(true)
    }

    try {
      // A fetch function of the user may ignore the signal.
      return await abortable(exchange(false), signal)
    } catch (error) {
      const failed = error instanceof AdminError ? error : this.#toUnavailable(error, url, signal)
      const isLost = error instanceof AdminError ? isUncertain(error) : !NOT_SENT.test(reasonOf(error))
      if (isChange && isSent && isLost) this.#lost.add(failed)
      throw failed
    } finally {
      clearTimeout(timer)
    }
  }

  #toUnavailable(error: unknown, url: URL, signal: AbortSignal): AdminError {
    const isLate = signal.aborted
    const reason = isLate ? `there was no response within ${this.timeout} ms` : this.hide(reasonOf(error))
    return this.error(
      'admin_unavailable',
      `${showUrl(url)} cannot be reached, or the connection ended early: ${reason}`,
      isLate
        ? 'Try again, or raise the option timeout.'
        : 'Check the address, the network, and the certificate if the server has a private one.',
    )
  }

  /** @throws {AdminError} `admin_malformed` for a redirect, which is not followed, and for a large response */
  async #readText(response: Response, url: URL): Promise<string> {
    const { status, headers } = response
    if (status >= 300 && status < 400) {
      void discard(response)
      const location = headers.get('location') ?? ''
      const target = URL.canParse(location, url.href) ? showUrl(new URL(location, url)) : 'nowhere'
      throw this.#toMalformed(url, `redirects to ${this.hide(target)}`)
    }
    const tooLarge = (): AdminError => this.#toMalformed(url, `returned more than ${LIMIT} bytes`)
    return new TextDecoder().decode(await readBytes(response, LIMIT, tooLarge))
  }

  #toMalformed(url: URL, what: string): AdminError {
    const hint =
      'Check that it is the address of the administration, and that no login page or proxy responds in its place.'
    return this.error('admin_malformed', `${showUrl(url)} ${what}`, hint)
  }

  /** Reads a response, or the error in it. Most errors have the HTTP status 200; some are HTML pages. */
  #read({ ok, status }: Response, text: string, url: URL): unknown {
    const answer = tryJson(text)
    const only = onlyObject(answer)
    const found = findError(only, false)
    if (found) return this.#toServiceError(url, found.code || (ok ? undefined : status), found.message)
    if (!ok) return this.#toServiceError(url, status, toWords(text), true)
    if (typeof answer !== 'object' || answer === null) {
      const kind = /^\s*</.test(text) ? 'an HTML page' : 'no JSON'
      return this.#toMalformed(url, `returned ${kind}: ${this.hide(toWords(text))}`)
    }
    const { success, status: outcome } = only
    if (/^false$/i.test(String(success)) || /^(?:failed|failure|error)$/i.test(String(outcome)))
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
    const [name, hint] = meaningOf(code ?? 0, isHttp)
    const message = `${showUrl(url)} returned ${code ? `the error ${code}` : 'an error'}: ${this.hide(text)}`
    return this.error(name, message, hint, { serviceCode: code })
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

/** Services of ArcGIS Online write one object as an array. */
function onlyObject(answer: unknown): Json {
  const only: unknown = Array.isArray(answer) && answer.length === 1 ? answer[0] : answer
  return isObject(only) ? only : {}
}

function isSuccess(answer: unknown): boolean {
  const { success, status } = onlyObject(answer)
  return String(success) === 'true' || status === 'success'
}

/** True if a change may have been made: the response is not that of a service, or the service failed during the change. */
const isUncertain = ({ code, serviceCode = 0 }: AdminError): boolean =>
  code === 'admin_malformed' || (serviceCode >= 500 && serviceCode < 600 && serviceCode !== 503)

const MEANINGS: Readonly<Record<number, readonly [code: AdminError['code'], hint: string]>> = {
  401: ['admin_unauthorized', 'The token is wrong, has expired, or is bound to another referer or address.'],
  403: [
    'admin_forbidden',
    'The user needs the privilege for geoprocessing or feature services. A web adaptor can also forbid administration.',
  ],
  404: ['admin_not_found', 'Check the name of the service and the webhook.'],
  429: ['admin_unavailable', 'Try again later.'],
  499: ['admin_unauthorized', 'Pass a token, or the result of signIn().'],
}

function meaningOf(code: number, isHttp: boolean): readonly [code: AdminError['code'], hint: string] {
  // In JSON, services write 500 for what they do not accept.
  const group = code === 498 ? 401 : code >= (isHttp ? 500 : 501) ? 429 : code
  return MEANINGS[group] ?? ['admin_refused', 'Change what the service refuses.']
}

/** The first words of an HTML page or of another text, without markup. */
function toWords(text: string): string {
  const [start = '', ...parts] = text.slice(0, 20_000).split('<')
  const words = [start, ...parts.map((part) => part.slice(part.indexOf('>') + 1))].join(' ')
  return words.replace(/\s+/g, ' ').trim() || 'nothing'
}

/** The error for a source that gives no token. @param known tokens that it gave before */
export function toTokenError(error: unknown, known: readonly string[] = []): Error {
  if (error instanceof AdminError) return error
  const reason = error instanceof Error ? String(error.message) : 'the token source failed'
  return new AdminError('admin_unauthorized', {
    message: `no token: ${createRedactor(known).text(withCauses(error, reason), MAX_TEXT)}`,
    hint: 'Check the function or the credentials that are passed as token.',
  })
}
