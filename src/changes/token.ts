import { withCauses } from '#runtime'
import { configInvalid } from '../errors.ts'
import { describeMissing } from '../options.ts'
import { abortable, ChangesError } from './errors.ts'
import type { Feature } from './types.ts'

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
  /** @throws {WebhookError} `changes_token_rejected` if there is no token */
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

/** @throws {WebhookError} `config_invalid` */
export function readToken(source: TokenSource | undefined): Tokens {
  if (source === undefined) return { get: async () => undefined, renew: async () => false, known: () => [] }
  if (typeof source === 'string') {
    if (source === '') throw configInvalid(describeMissing('token', source))
    if (!isToken(source))
      throw configInvalid(`token ${BAD_CHARACTER}`, 'Remove them. Often there is a line break at the end.')
    return { get: async () => source, renew: async () => false, known: () => [source] }
  }
  if (typeof source === 'function') return createTokens((url) => source(url))
  if (typeof (source as Partial<Credentials> | null)?.getToken !== 'function')
    throw configInvalid('token must be text, a function, or credentials with the method getToken')
  return createTokens(
    (url) => source.getToken(url),
    () => source.refreshCredentials?.(),
  )
}

/** @param refresh given for credentials: they check whether their token has expired, so they are called for each request */
function createTokens(read: (url: string) => unknown, refresh?: () => unknown): Tokens {
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

// The error itself is not kept as the cause: those of the vendor's client contain the request with its secret.
function toError(error: unknown): ChangesError {
  const reason = error instanceof Error ? String(error.message) : 'the token source failed'
  return new ChangesError('changes_token_rejected', {
    message: `no token: ${withCauses(error, reason)}`,
    hint: 'Check the function or the credentials that are passed as token.',
  })
}

/** Names of the fields that say who edited a feature: `editFieldsInfo` in the description of a layer. */
export interface EditFields {
  creatorField?: string | null | undefined
  creationDateField?: string | null | undefined
  editorField?: string | null | undefined
  editDateField?: string | null | undefined
}

/** Who created and last edited a feature, and when. Members are absent if the feature lacks them. */
export interface EditorInfo {
  creator?: string
  createdAt?: Date
  editor?: string
  editedAt?: Date
}

/** The default names in both families of products, in lower case. */
const DEFAULTS: Readonly<Record<keyof EditFields, readonly string[]>> = {
  creatorField: ['creator', 'created_user'],
  creationDateField: ['creationdate', 'created_date'],
  editorField: ['editor', 'last_edited_user'],
  editDateField: ['editdate', 'last_edited_date'],
}

/**
 * Returns who created and last edited a feature. The names of the fields are compared without regard to case.
 *
 * @param fields `editFieldsInfo` of the layer, which can be null. Default: the names that the vendor's products use by
 * default
 *
 * @example
 * ```ts
 * import { readEditor } from 'geohook/changes'
 *
 * const edited = readEditor({ attributes: { Editor: 'kim', EditDate: 1700000000000 } })
 * console.log(edited.editor, edited.editedAt) // kim 2023-11-14T22:13:20.000Z
 * ```
 */
export function readEditor({ attributes }: Feature<object>, fields?: EditFields | null): EditorInfo {
  const values = new Map(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
  const find = (field: keyof EditFields): unknown => {
    const given = fields?.[field]
    const names = typeof given === 'string' ? [given.toLowerCase()] : DEFAULTS[field]
    return names.map((name) => values.get(name)).find((value) => value !== undefined && value !== null)
  }
  const found = {
    creator: toName(find('creatorField')),
    createdAt: toDate(find('creationDateField')),
    editor: toName(find('editorField')),
    editedAt: toDate(find('editDateField')),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

const toName = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** @param value milliseconds since 1970, or a date as text, as some layers store it */
function toDate(value: unknown): Date | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}
