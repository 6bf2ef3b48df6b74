import type { Delivery, StoredDelivery } from '../receiver/types.ts'

/** Copies the members of a delivery that inboxes store. Later changes to the original do not affect the copy. */
export function copyDelivery(delivery: Delivery | StoredDelivery): StoredDelivery {
  const { id, rawBody, contentType, headers, receivedAt, profile, keyIndex, tenant } = delivery
  return {
    id,
    rawBody: rawBody.slice(),
    contentType,
    headers: { ...headers },
    receivedAt: new Date(receivedAt),
    profile,
    ...(keyIndex !== undefined && { keyIndex }),
    ...(tenant !== undefined && { tenant }),
  }
}

/** Serializes a delivery as JSON, without its body, id and time of receipt. */
export function toHead(delivery: StoredDelivery): string {
  const { contentType, headers, profile, keyIndex, tenant } = delivery
  return toAsciiJson({ contentType, headers, profile, keyIndex, tenant })
}

/**
 * Restores a delivery from the output of {@link toHead}.
 *
 * @throws if the head is damaged
 */
export function fromHead(head: string, id: string, rawBody: Uint8Array, receivedAt: number): StoredDelivery {
  const stored = JSON.parse(head) as StoredDelivery
  if (typeof stored.contentType !== 'string' || !stored.headers || typeof stored.headers !== 'object')
    throw new Error('its content type or its headers are missing')
  return copyDelivery({ ...stored, id, rawBody, receivedAt: new Date(receivedAt) })
}

/**
 * Writes JSON in ASCII. Databases differ in which other characters they store: PostgreSQL rejects NUL and unpaired
 * surrogates, and, with another encoding than UTF-8, most of the rest.
 */
export const toAsciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/**
 * Writes the column `types`. Commas and quotes in a string are escaped, so that {@link toQuoted} of a string is a part of
 * the result only if the string is one of them.
 */
export const toTypes = (types: readonly string[]): string => `[${types.map(toQuoted).join()}]`

export const toQuoted = (text: string): string =>
  `"${toAsciiJson(text).slice(1, -1).replaceAll('\\"', '\\u0022').replaceAll(',', '\\u002c')}"`

/** An escape: this character, then four hex digits, which are control characters from {@link FIRST_DIGIT}. */
const MARK = 0x7f
const FIRST_DIGIT = 0x10

/**
 * Writes text in ASCII, so that one text contains another exactly if its result does. JSON would not do: it writes one
 * letter as `\u503c`, which contains `503`.
 */
export const toAsciiText = (text: string): string =>
  text.replace(/[^ -~]/g, (character) => {
    const digits = [12, 8, 4, 0].map((shift) => FIRST_DIGIT + ((character.charCodeAt(0) >> shift) & 15))
    return String.fromCharCode(MARK, ...digits)
  })

/** Restores text from the output of {@link toAsciiText}. */
export const fromAsciiText = (text: string): string =>
  text.replace(/[^ -~]{5}/g, ([_, ...digits]) =>
    String.fromCharCode(digits.reduce((code, digit) => code * 16 + digit.charCodeAt(0) - FIRST_DIGIT, 0)),
  )
