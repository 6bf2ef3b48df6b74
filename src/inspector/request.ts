import { isUtf8 } from 'node:buffer'
import type { ServiceName } from '../payload/events.ts'
import { bodyFormat } from '../payload/parse.ts'
import type { HeaderPairs } from '../shared/headers.ts'
import { splitSignedForm } from '../signature/signature.ts'
import type { Item } from './source.ts'

/** Returns the value of a header. Repeated headers are joined, as the receiver does. */
export function headerOf(headers: HeaderPairs, name: string): string | undefined {
  const values = headers.filter(([header]) => header.toLowerCase() === name.toLowerCase())
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(', ')
}

/** The signature of a request as it was received. */
interface FoundSignature {
  value: string
  /** True if the last field of a form contains it. */
  isInField: boolean
}

/** Finds the signature where the receiver does: in the header or, without it, in the last field of a form. */
export function findSignature(
  { headers, body, contentType }: Pick<Item['request'], 'headers' | 'body' | 'contentType'>,
  name: string,
): FoundSignature | undefined {
  const value = headerOf(headers, name)
  if (value) return { value, isInField: false }
  const form =
    body && bodyFormat(contentType) === 'form' ? splitSignedForm(body, name.toLowerCase()) : undefined
  return form && { value: form.signature, isInField: true }
}

/**
 * Names the key that matched, for example `key 1 of 2 (newest)`.
 *
 * @param count number of keys; 0 if it is not known
 */
export function keyText(index: number, count: number): string {
  if (count === 1) return 'the only key'
  const of = count > 1 ? ` of ${count}` : ''
  return `key ${index + 1}${of}${index === 0 ? ' (newest)' : ''}`
}

/** Returns for example `Parcels.FeatureServer`. Handlers can change an event, so members that are not text are left out. */
export function serviceText({
  folderName,
  serviceName,
  serviceType,
}: Partial<ServiceName>): string | undefined {
  const join = (parts: readonly unknown[], separator: string): string =>
    parts.filter((part) => typeof part === 'string' && part !== '').join(separator)
  return join([join([folderName, serviceName], '/'), serviceType], '.') || undefined
}

/**
 * Returns path and query of a request's URL, which can be a whole URL. Ignores its host: senders choose it, and the
 * user's next click would send a signed request to them.
 */
export const pathOf = (url: string): string => /^(?:\w+:\/\/[^/?#]*)?(\/[^#]*)/.exec(url)?.[1] ?? '/'

/** Decodes a body as UTF-8; invalid bytes become U+FFFD. */
export const textOf = (body: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)

/** True if the body is text that a form can show and return without loss. */
export const isText = (body: Uint8Array): boolean => isUtf8(body) && !/[^\P{Cc}\t\n\r]/u.test(textOf(body))

/**
 * Indents JSON, and splits a form into its fields. Anything else is returned as it is.
 *
 * @param contentType the content type of the request; a body that looks like JSON is indented whatever it says
 */
export function prettyBody(body: Uint8Array, contentType: string): string {
  const text = textOf(body)
  if (bodyFormat(contentType) === 'form') return prettyForm(text)
  return indentJson(text) ?? text
}

/** One line for each field; JSON in a field is indented. */
function prettyForm(text: string): string {
  const fields = [...new URLSearchParams(text)]
  return fields.map(([name, value]) => `${name} = ${indentJson(value) ?? value}`).join('\n')
}

/**
 * Indents JSON without parsing its values, so that numbers, escapes and the order of members stay as they were sent.
 *
 * @returns undefined if the text is no JSON
 */
function indentJson(text: string): string | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  let result = ''
  let depth = 0
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[{]\s*[\]}]|[[\]{}:,]|[^\s[\]{}:,"]+/g)) {
    if (/^[[{]\s*[\]}]$/.test(token)) result += token.replace(/\s/g, '')
    else if (token === '{' || token === '[') {
      depth++
      result += token + newLine()
    } else if (token === '}' || token === ']') {
      depth--
      result += newLine() + token
    } else if (token === ',') result += token + newLine()
    else result += token === ':' ? ': ' : token
  }
  return result
}

/** Deeper nesting is not indented further: indenting it could blow up the page. */
const MAX_INDENT = 20
