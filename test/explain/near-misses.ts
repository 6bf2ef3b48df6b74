import type { Question } from './question.ts'

/** A request that differs from a known mistake in one respect, so that nothing explains it. */
export type NearMiss = readonly [name: string, options: Question]

/** Evidence of signatures that do not depend on the key, or on the body. */
const WITHOUT_KEY =
  /without the key|an empty key|with (the word|a word|a text|two (double|single) quotes|the placeholder|the name of|an example)|The body on this side is/
const WITHOUT_BODY =
  /over the key|in place of (the payload|each element)|an empty body|the text (?!.*\{body\}).*\{|The key on this side is/

/** Returns the next letter or digit, which is never the same letter in another case. */
function next(character: string): string {
  if (character === 'z' || character === 'Z') return 'b'
  if (character === '9') return '1'
  return String.fromCharCode(character.charCodeAt(0) + 1)
}

const LETTERS = /[A-Za-z0-9]/g
/** Words and numbers, except those that belong to an escape sequence or are literals of JSON. */
const WORDS = /(?<![\\%&#A-Za-z])(?!true|false|null)[A-Za-z]{4,}|(?<="|^|\n)[a-z](?="|$|\r|\n)/g
const NUMBERS = /(?<![\w%\\.#&+-])\d+(?=[,\]}\s]|$)/g

/** Changes one letter of each word and the last digit of each number. */
function changeBody(body: Buffer): Buffer {
  const text = body.toString('latin1')
  const changed = text
    .replace(WORDS, (word) => {
      const at = Math.min(2, word.length - 1)
      return word.slice(0, at) + next(word.charAt(at)) + word.slice(at + 1)
    })
    .replace(NUMBERS, (number) => number.slice(0, -1) + next(number.slice(-1)))
  const result = changed === text ? text.replace(LETTERS, next) : changed
  return Buffer.from(result, 'latin1')
}

const changeKey = (key: Buffer): Buffer => {
  const text = key.toString('latin1')
  const changed = text.replace(LETTERS, next)
  return changed === text ? Buffer.from(key.map((byte) => byte ^ 0x55)) : Buffer.from(changed, 'latin1')
}

/** Changes the character in the middle of a key. */
const changeCharacter = (key: Buffer): Buffer => {
  const at = key.length >> 1
  return Buffer.from(
    key.map((byte, index) => (index === at ? changeKey(Buffer.from([byte]))[0] : byte) as number),
  )
}

/** Changes a timestamp by one second wherever the request has it. */
const changeTime = (text: string): string =>
  text.replace(/1730385704|(?<=:\d\d:)\d\d/g, (time) => time.slice(0, -1) + next(time.slice(-1)))

/** Returns near misses of a request for which `explain` gave this evidence. */
export function nearMisses(options: Question, evidence: string): NearMiss[] {
  const body = Buffer.from(options.body as string)
  const keys = [options.signatureKey].flat().map((key) => Buffer.from(key as string))
  const headers = options.headers as Record<string, string>
  const misses: NearMiss[] = []
  if (!WITHOUT_KEY.test(evidence)) {
    // A hypothesis about a key may use only a part of it.
    const change = /computed with /.test(evidence) ? changeKey : changeCharacter
    misses.push(['another key', { ...options, signatureKey: keys.map(change) }])
  }
  if (!WITHOUT_BODY.test(evidence) && body.length > 0)
    misses.push(['another body', { ...options, body: changeBody(body) }])
  if (evidence.includes('{timestamp}')) {
    const changed = Object.entries(headers).map(([name, value]) => [name, changeTime(value)])
    const url = options.url === undefined ? {} : { url: changeTime(options.url) }
    misses.push(['another time', { ...options, ...url, headers: Object.fromEntries(changed) }])
  }
  // What one side has explains any signature, unless all of it differs.
  if (evidence.includes(' on this side is '))
    return [1, 2].map((bit) => [`other bytes ${bit}`, withOtherBytes(options, bit)])
  return misses.length < 2 ? [...misses, ...otherSignatures(options, headers)] : misses
}

const withOtherBytes = (options: Question, bit: number): Question => {
  const change = (value: unknown): Buffer =>
    Buffer.from(Buffer.from(value as string).map((byte) => byte ^ bit))
  return { ...options, body: change(options.body), signatureKey: [options.signatureKey].flat().map(change) }
}

/** Changes one digit of a signature in hex, at two places. */
function otherSignatures(options: Question, headers: Record<string, string>): NearMiss[] {
  const signature = headers['x-service'] ?? ''
  return [9, 20].flatMap((at) => {
    if (!/^[\da-f]{32,}$/.test(signature)) return []
    const digit = signature.charAt(at) === '0' ? '1' : '0'
    const changed = signature.slice(0, at) + digit + signature.slice(at + 1)
    return [[`another digit ${at}`, { ...options, headers: { ...headers, 'x-service': changed } }]]
  })
}
