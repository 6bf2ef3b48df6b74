import { configInvalid } from '../../errors.ts'
import { endToEnd, type HeaderPairs } from '../../shared/headers.ts'
import { type HttpRequest, isSendError, sendRequest } from '../../shared/http.node.ts'
import { isHidden, type Redactor } from '../../shared/redact.ts'
import { isSuccess } from '../../shared/status.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { SignatureKey } from '../../signature/keyring.ts'
import { sign } from '../../signature/signature.ts'
import { bodyFields, contentTypeField, readBody, readContentType } from '../action.ts'
import { choicesOf } from '../list.ts'
import { findSignature } from '../request.ts'
import type { Action, Done, Field, Item, Row, Source } from '../source.ts'
import { createExplainer, encodingOf, toItem, toRow } from './item.ts'
import { AddressBook, type ResolvedOptions, toAddress } from './options.ts'
import type { Recorded, RequestStore } from './record.ts'

/** Shows recorded requests. */
export function createRequestLogSource(
  store: RequestStore,
  options: ResolvedOptions,
  redactor: Redactor,
): Source {
  const addresses = new AddressBook(options.resendTo)
  const explain = createExplainer(options.receiver)
  /** Pages are listed often, so each row is made once. */
  const rows = new WeakMap<Recorded, Row>()
  function rowOf(recorded: Recorded): Row {
    const row = rows.get(recorded) ?? toRow(recorded, redactor)
    rows.set(recorded, row)
    return row
  }
  return {
    title: options.title,
    panels: [],
    actions: createActions(options, addresses, redactor),
    filters: async () => choicesOf(store.newestFirst().map(rowOf)),
    async list({ limit, after }) {
      const all = store.newestFirst()
      // If the last request of the previous page is gone, all older ones are gone too.
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const page = after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
      const next = start + page.length < all.length && page.length > 0 ? page.at(-1)?.id : undefined
      return { rows: page.map(rowOf), next }
    },
    async get(id) {
      const recorded = store.get(id)
      if (!recorded) return undefined
      const item = toItem(
        recorded,
        options,
        redactor,
        () => explain(recorded),
        otherRequests(store, recorded),
      )
      const address = redactor.text(addresses.suggest(item.request.url)) || undefined
      return { ...item, request: { ...item.request, address } }
    },
    clear: async () => store.clear(),
    on: (listener) => store.on(listener),
  }
}

const MAX_OTHERS = 10

/** Ids of other requests with the same delivery, newest first. */
const otherRequests = (store: RequestStore, { id, delivery }: Recorded): string[] =>
  delivery
    ? store
        .newestFirst()
        .filter((other) => other.id !== id && other.delivery?.id === delivery.id)
        .slice(0, MAX_OTHERS)
        .map((other) => other.id)
    : []

/** The actions on a recorded request. They use only what the page may show, so they cannot send a redacted header. */
function createActions(
  options: ResolvedOptions,
  addresses: AddressBook,
  redactor: Redactor,
): readonly Action<Item>[] {
  const { signatureHeader, secretHeader, trust } = options

  const addressField = ({ request }: Item): Field => ({
    name: 'to',
    label: 'Address',
    value: redactor.text(addresses.suggest(request.url)),
    hint: 'http or https. Redirects are not followed.',
    isRequired: true,
  })

  /** The form hides keys in the suggested address. If the user has not changed it, the suggestion itself is used. */
  function readAddress({ request }: Item, to = ''): URL {
    const suggested = addresses.suggest(request.url)
    const address = to.trim() === redactor.text(suggested) ? suggested : to.trim()
    const url = toAddress(address)
    addresses.remember(request.url, address)
    return url
  }

  const resend: Action<Item> = {
    name: 'resend',
    label: 'Resend',
    isAvailable: ({ request }) => request.body !== undefined || request.method === 'GET',
    fields: (item) => [addressField(item)],
    run(item, { to }) {
      const { method, headers, body = new Uint8Array() } = item.request
      return post(readAddress(item, to), { method, headers: sendable(headers), body }, redactor.text, trust)
    },
  }

  const edit: Action<Item> = {
    name: 'edit',
    label: 'Edit and sign',
    question: () =>
      secretHeader === undefined
        ? 'Sends the edited body, signed with the newest key.'
        : `Sends the edited body, and the newest key itself in the header ${secretHeader}: check the address.`,
    isAvailable: ({ request }) => options.keys().length > 0 && request.body !== undefined,
    fields: (item) => [addressField(item), contentTypeField(item), ...bodyFields(item)],
    async run(item, values) {
      const url = readAddress(item, values.to)
      const body = readBody(values)
      const signature = secretHeader === undefined ? await signLike(item, body) : keyText()
      const header = secretHeader ?? signatureHeader
      const replaced = ['content-type', header.toLowerCase()]
      const kept = sendable(item.request.headers).filter(([name]) => !replaced.includes(name.toLowerCase()))
      const headers = [
        ...kept,
        ['content-type', readContentType(values)],
        [header, signature],
      ] as const satisfies HttpRequest['headers']
      const withoutSignature = (text: string): string => redactor.text(text).replaceAll(signature, '***')
      return post(url, { method: 'POST', headers, body }, withoutSignature, trust)
    },
  }

  const newestKey = (): SignatureKey => options.keys()[0] as SignatureKey

  /** The newest key as a header: one character per byte. */
  const keyText = (): string => Buffer.from(newestKey() as Uint8Array).toString('latin1')

  /** Signs with the newest key, in the encoding and with the prefix of the original signature if it is readable. */
  function signLike({ request }: Item, body: Uint8Array): Promise<string> {
    const { value = '' } = findSignature(request, signatureHeader) ?? {}
    const encoding = options.encoding === 'auto' ? (encodingOf(value) ?? 'hex') : options.encoding
    const prefix = /^sha256(=|%3d)/i.test(value) ? 'sha256=' : ''
    return sign({ body, signatureKey: newestKey(), encoding, prefix })
  }

  return [resend, edit]
}

/** The headers to send again. Redacted ones are left out. */
const sendable = (headers: HeaderPairs): HeaderPairs =>
  endToEnd(headers).filter((header) => !isHidden(header))

/** Milliseconds to wait for the complete response. */
const TIMEOUT = 10_000
/** Bytes of the response to read, and characters of it to show. */
const MAX_READ = 64 * 1024
const MAX_SHOWN = 300

/**
 * Sends a request for the user, and describes the response.
 *
 * @param redact removes secrets from the response, because a target may send back what it received
 * @throws {WebhookError} `config_invalid` without a response, so that the user can correct the address
 */
async function post(
  url: URL,
  request: HttpRequest,
  redact: (text: string) => string,
  trust: Trust | undefined,
): Promise<Done> {
  const startedAt = performance.now()
  try {
    const { status, body } = await sendRequest(url, request, {
      timeout: TIMEOUT,
      limit: MAX_READ,
      isCut: true,
      trust,
    })
    // The response to a handshake contains a signature, with which someone else could pass a handshake.
    const text = request.method === 'GET' ? '' : redact(body.toString()).trim()
    const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
    const duration = Math.round(performance.now() - startedAt)
    return {
      message: `${redact(url.href)} answered ${status} in ${duration} ms${shown && `: ${shown}`}`,
      ok: isSuccess(status),
    }
  } catch (error) {
    if (isSendError(error))
      throw configInvalid(redact([error.message, error.hint].filter(Boolean).join('. ')))
    throw error
  }
}
