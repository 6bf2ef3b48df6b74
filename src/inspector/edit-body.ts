import { configInvalid } from '../errors.ts'
import type { Field, Values } from './action.ts'
import { isText, textOf } from './body-text.ts'
import type { Item } from './source.ts'

/** Fields to edit the body of a delivery: as text, or in hex if the form would not return the same bytes. */
export function bodyFields({ request: { body = new Uint8Array() } }: Item): Field[] {
  const asText = isText(body) && hasOneLineBreak(textOf(body))
  const value = asText
    ? textOf(body)
    : (
        Buffer.from(body)
          .toString('hex')
          .match(/.{1,64}/g) ?? []
      ).join('\n')
  return [
    { name: 'body', label: 'Body', kind: 'multiline', value: value.replaceAll('\r\n', '\n') },
    {
      name: 'body-form',
      label: 'Format of the body',
      kind: 'choice',
      value: !asText ? 'hex' : value.includes('\r\n') ? 'crlf' : 'text',
      choices: [
        ['text', 'text, line breaks LF'],
        ['crlf', 'text, line breaks CRLF'],
        ['hex', 'hex'],
      ],
    },
  ]
}

/** False for a text with a lone CR, or with both LF and CRLF: browsers submit all line breaks as CRLF. */
const hasOneLineBreak = (text: string): boolean => !text.includes('\r') || !/\r(?!\n)|(?<!\r)\n/.test(text)

/** @throws {WebhookError} `config_invalid` for invalid hex */
export function readBody(values: Values): Uint8Array<ArrayBuffer> {
  const { body = '', 'body-form': form = 'text' } = values
  if (form !== 'hex') return new TextEncoder().encode(form === 'crlf' ? body.replaceAll('\n', '\r\n') : body)
  const digits = body.replace(/\s/g, '')
  if (digits.length % 2 === 1 || /[^0-9a-f]/i.test(digits))
    throw configInvalid('the body in hex must have two hex digits for each byte')
  return new Uint8Array(Buffer.from(digits, 'hex'))
}
