import { configInvalid } from '../errors.ts'
import { describeMissing } from '../options.ts'
import { abortable } from './client.ts'

/** Credentials of `@esri/arcgis-rest-request`, or another object with these methods. */
export interface Credentials {
  /** Returns a token for a URL. */
  getToken(url: string): Promise<string>
  /** Called if the service rejects the token. */
  refreshCredentials?(): Promise<unknown>
}

/** A token, a function that returns one for the service of a URL, or credentials. */
export type TokenSource = string | ((url: string) => string | Promise<string>) | Credentials

export interface Tokens {
  /** @throws what `toError` of {@link readToken} returns if there is no token */
  get(url: URL, signal: AbortSignal): Promise<string | undefined>
  /**
   * Gets another token in place of one that the service rejected. Simultaneous calls share one renewal.
   *
   * @returns false if the source has only one token
   */
  renew(url: URL, rejected: string | undefined, signal: AbortSignal): Promise<boolean>
  /** The last 20 tokens, including rejected ones: a service can quote an earlier token in an error. */
  known(): readonly string[]
}

const MAX_KNOWN = 20

/**
 * @param toError creates the error for a source that fails. It must not have the error of the source as its cause, because
 * those of the vendor's client contain the request with its secret
 * @throws {WebhookError} `config_invalid`
 */
export function readToken(source: TokenSource | undefined, toError: (error: unknown) => Error): Tokens {
  if (source === undefined) return { get: async () => undefined, renew: async () => false, known: () => [] }
  if (typeof source === 'string') {
    if (source === '') throw configInvalid(describeMissing('token', source))
    if (!isToken(source))
      throw configInvalid(`token ${BAD_CHARACTER}`, 'Remove them. Often there is a line break at the end.')
    return { get: async () => source, renew: async () => false, known: () => [source] }
  }
  if (typeof source === 'function') return createTokens(toError, (url) => source(url))
  if (typeof (source as Partial<Credentials> | null)?.getToken !== 'function')
    throw configInvalid('token must be text, a function, or credentials with the method getToken')
  return createTokens(
    toError,
    (url) => source.getToken(url),
    () => source.refreshCredentials?.(),
  )
}

/** @param refresh given for credentials: they check whether their token has expired, so they are called for each request */
function createTokens(
  toError: (error: unknown) => Error,
  read: (url: string) => unknown,
  refresh?: () => unknown,
): Tokens {
  // A server accepts only its own tokens, so there is one for each origin.
  const tokens = new Map<string, Promise<string>>()
  const renewals = new Map<string, Promise<string>>()
  const known = new Set<string>()

  async function request({ href }: URL, before?: () => unknown): Promise<string> {
    try {
      await before?.()
      const token = requireText(await read(href))
      known.delete(token)
      known.add(token)
      for (const oldest of known) if (known.size > MAX_KNOWN) known.delete(oldest)
      return token
    } catch (error) {
      throw toError(error)
    }
  }

  /** Keeps a promise until it rejects, or until it is settled. */
  function keep(map: typeof tokens, origin: string, token: Promise<string>, isSettledKept: boolean): void {
    map.set(origin, token)
    const remove = (): void => {
      if (map.get(origin) === token) map.delete(origin)
    }
    token.then(isSettledKept ? undefined : remove, remove)
  }

  function load(url: URL, before?: () => unknown): Promise<string> {
    const token = request(url, before)
    if (!refresh) keep(tokens, url.origin, token, true)
    return token
  }

  const get = (url: URL): Promise<string> => tokens.get(url.origin) ?? load(url)

  function renew(url: URL): Promise<string> {
    const token = load(url, refresh)
    keep(renewals, url.origin, token, false)
    return token
  }

  /** Waits for a token. A call that was aborted may never end, so the next one does not wait for it. */
  function awaitToken({ origin }: URL, token: Promise<string>, signal: AbortSignal): Promise<string> {
    return abortable(token, signal).catch((error: unknown) => {
      for (const map of [tokens, renewals])
        if (signal.aborted && map.get(origin) === token) map.delete(origin)
      throw error
    })
  }

  return {
    get: (url, signal) => awaitToken(url, get(url), signal),
    async renew(url, rejected, signal) {
      const current = await awaitToken(url, get(url), signal)
      if (current === rejected) await awaitToken(url, renewals.get(url.origin) ?? renew(url), signal)
      return true
    },
    known: () => [...known],
  }
}

function requireText(token: unknown): string {
  if (typeof token !== 'string' || token === '')
    throw new Error('the function or credentials returned no text')
  if (!isToken(token)) throw new Error(`the text ${BAD_CHARACTER}`)
  return token
}

const BAD_CHARACTER = 'contains blanks, line breaks or characters outside of ASCII'

// The error of `fetch` for an invalid header would quote the token.
const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
