import { configInvalid } from '../../errors.ts'
import { isHidden, type Redactor } from '../../shared/redact.ts'
import { sign } from '../../signature/signature.ts'
import type { Action, Field } from '../action.ts'
import { bodyFields, readBody } from '../edit-body.ts'
import { endToEnd, type HttpRequest } from '../send-request.ts'
import type { HeaderPairs, Item } from '../source.ts'
import { type AddressBook, toAddress } from './address.ts'
import type { ResolvedOptions } from './options.ts'
import { post } from './post.ts'
import { encodingOf, findSignature } from './signature-facts.ts'

/** The actions on a recorded request. They use only what the page may show, so they cannot send a redacted header. */
export function createActions(
  options: ResolvedOptions,
  addresses: AddressBook,
  redactor: Redactor,
): readonly Action<Item>[] {
  const [newestKey] = options.keys
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
    isAvailable: ({ request }) => newestKey !== undefined && request.body !== undefined,
    fields: (item) => [
      addressField(item),
      {
        name: 'content-type',
        label: 'Content type',
        value: item.request.contentType || 'application/json',
        choices: ['application/json', 'application/x-www-form-urlencoded'].map((type) => [type, type]),
      },
      ...bodyFields(item),
    ],
    async run(item, values) {
      const url = readAddress(item, values.to)
      const body = readBody(values)
      const signature = secretHeader === undefined ? await signLike(item, body) : keyText()
      const header = secretHeader ?? signatureHeader
      const replaced = ['content-type', header.toLowerCase()]
      const kept = sendable(item.request.headers).filter(([name]) => !replaced.includes(name.toLowerCase()))
      const headers = [
        ...kept,
        ['content-type', readContentType(values['content-type'])],
        [header, signature],
      ] as const satisfies HttpRequest['headers']
      const withoutSignature = (text: string): string => redactor.text(text).replaceAll(signature, '***')
      return post(url, { method: 'POST', headers, body }, withoutSignature, trust)
    },
  }

  /** The newest key as a header: one character per byte. */
  const keyText = (): string => Buffer.from(newestKey as Uint8Array).toString('latin1')

  /** Signs with the newest key, in the encoding and with the prefix of the original signature if it is readable. */
  function signLike({ request }: Item, body: Uint8Array): Promise<string> {
    const { value = '' } = findSignature(request.headers, request.body, signatureHeader) ?? {}
    const encoding = options.encoding === 'auto' ? (encodingOf(value) ?? 'hex') : options.encoding
    const prefix = /^sha256(=|%3d)/i.test(value) ? 'sha256=' : ''
    return sign({ body, signatureKey: newestKey as Uint8Array | string, encoding, prefix })
  }

  return [resend, edit]
}

/** The headers to send again. Redacted ones are left out. */
const sendable = (headers: HeaderPairs): HeaderPairs =>
  endToEnd(headers).filter((header) => !isHidden(header))

/** @throws {WebhookError} `config_invalid` */
function readContentType(text = ''): string {
  if (text !== '' && /^[\x20-\x7e]{1,200}$/.test(text)) return text
  throw configInvalid('the content type must be text such as application/json')
}
