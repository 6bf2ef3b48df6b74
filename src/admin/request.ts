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
import { isObject, requireSafe, toText, tryJson } from '../shared/json.ts'
import { createRedactor } from '../shared/redact.ts'
import type { Tokens } from '../shared/tokens.ts'
import { secretsOfUrl } from '../shared/url-secrets.ts'
import type { Address } from './address.ts'
import { AdminError, type AdminErrorDetails } from './errors.ts'

/** Maximum size of a response in bytes. */
const LIMIT = 16 * 1024 * 1024
/** Maximum number of characters of a message of a service. */
const MAX_TEXT = 500
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
  readonly #referer: string | undefined
  readonly #fetch: Fetch
  readonly #secrets = new Set<string>()

  constructor(
    address: Address,
    connection: { tokens: Tokens; referer: string | undefined; fetch: Fetch | undefined; timeout: number },
  ) {
    this.address = address
    this.timeout = connection.timeout
    this.#tokens = connection.tokens
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

  /** Registers a key or a payload URL of a webhook. No error contains their secret parts. */
  keepSecrets(key: unknown, url: unknown): void {
    const secrets = [
      typeof key === 'string' ? key : '',
      ...(typeof url === 'string' ? secretsOfUrl(url) : []),
    ]
    for (const secret of secrets) {
      if (secret === '') continue
      this.#secrets.delete(secret)
      this.#secrets.add(secret)
    }
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= MAX_SECRETS) break
      this.#secrets.delete(oldest)
    }
  }

  /** Hides the known secrets in a text of a service, and shortens it. */
  hide(text: string): string {
    return createRedactor([...this.#secrets, ...this.#tokens.known()]).text(text, MAX_TEXT)
  }

  error(code: AdminError['code'], { message, ...details }: AdminErrorDetails): AdminError {
    const { product, base } = this.address
    return new AdminError(code, { ...details, message: `${message} (${product} at ${base})` })
  }

  async #send(path: string, fields: Fields, isPost: boolean, isChange = false): Promise<unknown> {
    const target = new URL(this.address.base + path)
    const all = { ...fields, f: 'json' }
    if (!isPost) for (const [name, value] of Object.entries(all)) target.searchParams.set(name, value)
    const signal = AbortSignal.timeout(this.timeout)
    for (let isRenewed = false; ; ) {
      const token = await this.#tokens
        .get(target, signal)
        .catch((error: unknown) => this.#fail(error, target))
      let response: Response
      let text: string
      try {
        const request = toRequest(isPost ? all : undefined, token, this.#referer)
        response = await this.#fetch(target, { ...request, redirect: 'manual', signal })
        text = await this.#readText(response, target)
      } catch (error) {
        const failed = error instanceof AdminError ? error : this.#unavailable(error, target, signal)
        throw isChange ? new LostAnswer(failed) : failed
      }
      const answer = tryJson(text)
      const found = this.#findError(response, answer, text, target)
      if (!found) return answer
      if ((found.serviceCode === 498 || (found.serviceCode === 499 && isPost)) && !isRenewed) {
        isRenewed = true
        if (
          await this.#tokens.renew(target, token, signal).catch((error: unknown) => this.#fail(error, target))
        )
          continue
      }
      throw isChange && found.code === 'admin_malformed' ? new LostAnswer(found) : found
    }
  }

  #fail(error: unknown, url: URL): never {
    throw error instanceof AdminError ? error : this.#unavailable(error, url)
  }

  #unavailable(error: unknown, url: URL, signal?: AbortSignal): AdminError {
    const isLate = signal?.aborted === true
    const reason = isLate ? `there was no response within ${this.timeout} ms` : this.hide(reasonOf(error))
    return this.error('admin_unavailable', {
      message: `${showUrl(url)} cannot be reached, or the connection ended early: ${reason}`,
      hint: isLate
        ? 'Try again, or raise the option timeout.'
        : 'Check the address and the network, and the certificate if the server has a private one.',
    })
  }

  async #readText(response: Response, url: URL): Promise<string> {
    const location = response.headers.get('location')
    if (response.status >= 300 && response.status < 400) {
      await discard(response)
      const leads =
        location && URL.canParse(location, url.href) ? showUrl(new URL(location, url)) : 'elsewhere'
      throw this.#malformed(
        url,
        `redirects to ${this.hide(leads)}`,
        'If that is your server, use its address.',
      )
    }
    const bytes = await readBytes(response, LIMIT, () =>
      this.#malformed(
        url,
        `returned more than ${LIMIT} bytes`,
        'Check that it is the address of the administration.',
      ),
    )
    try {
      return toText(bytes)
    } catch {
      return ''
    }
  }

  #malformed(url: URL, what: string, hint: string): AdminError {
    return this.error('admin_malformed', { message: `${showUrl(url)} ${what}`, hint })
  }

  /** Finds the error in a response. Services report most errors with the HTTP status 200, some on an HTML page. */
  #findError(response: Response, answer: unknown, text: string, url: URL): AdminError | undefined {
    const { ok, status } = response
    const isJson = typeof answer === 'object' && answer !== null
    const found = isObject(answer) ? findError(answer, false) : undefined
    if (ok && isJson && !found) {
      if (!isSafe(answer))
        return this.#malformed(
          url,
          'returned JSON that is nested too deeply, or has a forbidden key',
          CHECK_ADDRESS,
        )
      if ((answer as { success?: unknown }).success !== false) return undefined
      return this.#toError(undefined, 'the service says success: false', url)
    }
    if (found) return this.#toError(found.code || (ok ? undefined : status), found.message, url)
    if (ok) {
      const page = /^\s*</.test(text) ? `an HTML page: ${this.hide(toWords(text))}` : 'no JSON'
      return this.#malformed(url, `returned ${page}`, CHECK_ADDRESS)
    }
    return this.#toError(status, `the HTTP status is ${status}: ${toWords(text)}`, url, true)
  }

  #toError(code: number | undefined, text: string, url: URL, isHttp = false): AdminError {
    const [name, hint] = meaningOf(code, isHttp)
    return this.error(name, {
      message: `${showUrl(url)} returned ${code ? `the error ${code}` : 'an error'}: ${this.hide(text)}`,
      hint,
      serviceCode: code,
    })
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

const CHECK_ADDRESS =
  'Check that it is the address of the administration, and that no login page or proxy answers in its place.'

function meaningOf(code: number | undefined, isHttp: boolean): [AdminError['code'], string] {
  if (code === 499 || code === 498 || code === 401)
    return [
      'admin_unauthorized',
      code === 499
        ? 'The service requires a token: pass one, or the result of signIn().'
        : 'The token is wrong, has expired, or is bound to another referer or address.',
    ]
  if (code === 403)
    return [
      'admin_forbidden',
      'The user needs the privilege for geoprocessing or feature services. A web adaptor can also forbid administration.',
    ]
  if (code === 404) return ['admin_not_found', 'Check the name of the service and the webhook.']
  // In JSON, services write 500 for what they do not accept.
  if (code !== undefined && (code === 429 || code > 500 || (isHttp && code === 500)))
    return ['admin_unavailable', 'Try again later.']
  return ['admin_refused', 'Change what the service refuses.']
}

function isSafe(answer: unknown): boolean {
  try {
    requireSafe(answer)
    return true
  } catch {
    return false
  }
}

/** The words of an HTML page or of another text, without markup. */
const toWords = (text: string): string =>
  text
    .slice(0, 20_000)
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim() || 'nothing'

/** The error for a source that gives no token. */
export function toTokenError(error: unknown): Error {
  if (error instanceof AdminError) return error
  const reason = error instanceof Error ? String(error.message) : 'the token source failed'
  return new AdminError('admin_unauthorized', {
    message: `no token: ${withCauses(error, reason)}`,
    hint: 'Check the function or the credentials that are passed as token.',
  })
}
