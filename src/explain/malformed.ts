import { bodyFormat, MAX_FIELDS } from '../payload/parse.ts'
import { utf8 } from '../shared/bytes.ts'
import { tryJson } from '../shared/json.ts'
import { splitSignedForm } from '../signature/signature.ts'
import { decodeAs, toBinary } from './bytes.ts'
import type { Cause } from './causes.ts'
import { grouped, isJson, type Refused, toSentence } from './refusals.ts'
import { decodeBase64 } from './transforms.ts'
import { type Finding, found } from './types.ts'

/** Explains why the receiver cannot decode the body. Returns undefined if no hypothesis is certain. */
export function explainMalformed(refused: Refused): Finding | undefined {
  const { body, headers, message } = refused
  const bytes = explainBytes(refused)
  if (bytes) return bytes
  // For valid JSON, the message of the receiver never quotes the payload.
  if (/deeper/.test(message)) return found('payload_too_deep', toSentence(message))
  if (/forbidden key/.test(message)) return found('payload_forbidden_key', toSentence(message))
  const decoded = decodeAs(body) as string
  const text = decoded.replace(/^\ufeff/, '')
  const isForm = bodyFormat(headers.get('content-type')) === 'form'
  const reason = isForm
    ? explainForm(refused, text)
    : (explainJson(text, 'body', decoded.length - text.length ? 3 : 0) ?? explainOther(text))
  if (reason || !/handshake token/.test(message)) return reason
  return found('payload_token', 'The body has only characters that a handshake token may have.')
}

function explainBytes({ body, headers }: Refused): Finding | undefined {
  if (body.length === 0) {
    const length = Number(headers.get('content-length'))
    const says = length > 0 ? `, but content-length says ${grouped(length)} bytes` : ''
    return found('payload_empty', `The body is empty${says}.`)
  }
  const start = toBinary(body.subarray(0, 4))
  const format = start.startsWith('\x1f\x8b\x08') ? 'gzip' : start === '(\xb5/\xfd' ? 'Zstandard' : ''
  if (format) {
    const state = headers.has('content-encoding') ? 'does not say so' : 'is missing'
    const evidence = `The body begins like ${format} data, but the header content-encoding ${state}.`
    return found('payload_compressed', evidence)
  }
  if (['utf-16le', 'utf-16be'].some((charset) => isJson(decodeAs(body, charset)?.replace(/^\ufeff/, ''))))
    return found('payload_utf16', 'The body is JSON in UTF-16.')
  if (decodeAs(body) !== undefined) return undefined
  const isLatin1 = isJson(decodeAs(body, 'windows-1252') ?? toBinary(body))
  const charset = isLatin1 ? ' Read as Latin-1 or Windows-1252, the body is JSON.' : ''
  const at = grouped(invalidUtf8(body))
  return found('payload_charset', `Byte ${at}, counted from 0, is not valid UTF-8.${charset}`)
}

/** Returns the index of the first byte for which a decoder writes a replacement character that the body does not have. */
function invalidUtf8(body: Uint8Array): number {
  let at = 0
  for (const part of new TextDecoder('utf-8', { ignoreBOM: true }).decode(body).split('\ufffd')) {
    at += utf8(part).length
    if (toBinary(body.subarray(at, at + 3)) !== '\xef\xbf\xbd') break
    at += 3
  }
  return at
}

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function explainForm(refused: Refused, text: string): Finding | undefined {
  const { mistakes, ends, rest } = readLoosely(text)
  if (/^\s*[{[]/.test(text) && (mistakes.length > 0 || ends.length > 0 || rest !== undefined)) {
    const { evidence = '' } = explainJson(text, 'body') ?? {}
    const what = evidence ? `begins like JSON. ${evidence}` : 'is JSON.'
    return found('content_type_form_for_json', `The content type says form, but the body ${what}`)
  }
  const signed = splitSignedForm(refused.body, refused.field)
  const unsigned = signed ? `payload=${decodeAs(signed.signed) ?? ''}` : text
  const fields = unsigned.split('&').filter(Boolean)
  if (fields.length === 0) return found('form_empty', 'The form has no fields.')
  if (fields.length > MAX_FIELDS) {
    const count = `The form has ${grouped(fields.length)} fields`
    return found('form_too_many_fields', `${count}; the maximum is ${grouped(MAX_FIELDS)}.`)
  }
  const at = text.search(/%(?![0-9a-f]{2})/i)
  if (at >= 0) {
    const evidence = `The percent sign at character ${grouped(at)} has no two hex digits after it.`
    return found('form_percent_encoding', evidence)
  }
  if (fields.some((field) => field.split('=').some((part) => percentDecode(part) === undefined)))
    return found('form_charset', 'A field contains percent-encoded bytes that are not valid UTF-8.')
  const [payload, ...others] = fields
    .filter((field) => percentDecode(field.replace(/=.*/s, '')) === 'payload')
    .map((field) => percentDecode(field.replace(/^[^=]*=?/, '')) ?? '')
  if (others.length > 0) return found('form_two_payloads', 'The form has more than one field named payload.')
  if (payload === undefined) return undefined
  if (/^%[57]b/i.test(payload) && isJson(percentDecode(payload)))
    return found('form_double_encoded', 'The field payload is JSON that was percent-encoded twice.')
  return explainJson(payload, 'field payload')
}

const FIELD = /^[\w.%+[\]-]+=[^\s"{}<>=]*$/

function explainOther(text: string): Finding | undefined {
  const isForm =
    (/=./.test(text) && text.split('&').every((field) => FIELD.test(field))) ||
    isJson(/^payload=(.*)$/s.exec(text)?.[1])
  if (!isForm || percentDecode(text.replace(/[{[].*/s, '')) === undefined) return undefined
  return found('content_type_json_for_form', 'The content type says JSON, but the body is a form.')
}

/** Deviations from JSON that people and programs make by mistake, each with its cause if it is the first one. */
const MISTAKES = {
  single_quotes: ['payload_printed', 'a text in single quotes'],
  python_word: ['payload_printed', 'True, False or None, as Python prints them'],
  trailing_comma: ['payload_trailing_comma', 'a comma before a closing bracket'],
  comment: ['payload_comment', 'a comment'],
  not_a_number: ['payload_not_a_number', 'NaN, Infinity or undefined'],
  unquoted_name: ['payload_unquoted_name', 'a name without quotes'],
  control_character: ['payload_control_character', 'a control character, such as a line feed, inside a text'],
  escape: ['payload_escape', 'a backslash that begins no valid escape sequence'],
} as const satisfies Record<string, readonly [cause: Cause, description: string]>

type Mistake = keyof typeof MISTAKES

/**
 * Explains why text is not a JSON object or array, most specific first. Returns undefined if no hypothesis is certain.
 *
 * @param noun what the text is: the body or the payload field
 * @param bom number of bytes before the text
 */
function explainJson(text: string, noun: string, bom = 0): Finding | undefined {
  const value = tryJson(text)
  const because = (cause: Cause, what: string): Finding => found(cause, `The ${noun} ${what}.`)
  if (text.trim() === '') {
    const is = text === '' && bom === 0 ? 'is empty' : 'has only white space or a byte order mark'
    return because('payload_empty', is)
  }
  if (/^\ufeff/.test(text) && isJson(text.replace(/^\ufeff+/, '')))
    return because('payload_bom', 'begins with more than one byte order mark')
  if (typeof value === 'string' && isJson(value))
    return because('payload_double_encoded', 'is a JSON string that contains JSON: it was encoded twice')
  if (value !== undefined && !isJson(text)) {
    const kind = value === null ? 'null' : `a ${typeof value}`
    return because('payload_scalar', `is valid JSON, but ${kind} in place of an object or array`)
  }
  const decoded = decodeBase64(text.replace(/[\s"]/g, ''))
  if (decoded && isJson(decodeAs(decoded))) return because('payload_base64', 'is JSON in base64')
  if (/^%[57]b/i.test(text) && isJson(percentDecode(text)))
    return because('payload_percent_encoded', 'is percent-encoded JSON')
  if (/^\[object [A-Z]\w{1,40}\]/.test(text))
    return because('payload_printed', 'is a JavaScript object that was converted to text')
  const [, html, xml] = /^\s*<(?:(!doctype html|html)|(\?xml|!--|[a-z][\w:.-]*[\s/>]))/i.exec(text) ?? []
  if ((html ?? xml) !== undefined)
    return because('payload_markup', `is ${html ? 'an HTML page' : 'XML or HTML'}`)
  return explainMistakes(text, noun, (index) =>
    noun === 'body'
      ? `at byte ${grouped(bom + utf8(text.slice(0, index)).length)}`
      : `at character ${grouped(index)}`,
  )
}

/**
 * Explains text that would be JSON without some mistakes.
 *
 * @param where describes a position without repeating the text
 */
function explainMistakes(text: string, noun: string, where: (index: number) => string): Finding | undefined {
  const { mistakes, ends, rest } = readLoosely(text)
  const because = (cause: Cause, what: string): Finding => found(cause, `The ${noun} ${what}.`)
  const json = `The JSON in the ${noun}`
  const [first, last] = [ends[0], ends.at(-1)]
  if (first !== undefined && last !== undefined && text.slice(first).trim() !== '') {
    if (first < last && text.slice(last).trim() === '')
      return because('payload_several', `has several JSON documents: the first ends ${where(first)}`)
    return found('payload_trailing_text', `${json} is complete ${where(first)}, but text follows.`)
  }
  if (rest?.startsWith('"') && /[}\]]$/.test(text.trimEnd())) {
    const why = `a quote is missing or escaped, or the end of the ${noun} is cut off`
    return because('payload_malformed', `ends inside a text: ${why}`)
  }
  if (rest !== undefined) return found('payload_cut_off', `${json} ends early, ${where(text.length)}.`)
  if (mistakes[0]) {
    const names = mistakes.map(([name, index]) => `${MISTAKES[name][1]} ${where(index)}`)
    return because(MISTAKES[mistakes[0][0]][0], `has ${names.join(', and ')}, and is JSON otherwise`)
  }
  if (!/^\s*\{\s*(serviceName|serviceType|events|eventType|changeTypes?|webhookName)\s*:/.test(text))
    return undefined
  const evidence = `The names in the ${noun} have no quotes: a shell may have removed them.`
  return found('payload_unquoted_name', evidence)
}

/** The mistakes in a text that should be a JSON object or array. */
interface LooseReading {
  /** Without these mistakes, the text would be JSON. Each has the index of its first occurrence; sorted by index. */
  mistakes: readonly (readonly [mistake: Mistake, index: number])[]
  /** End index of each JSON document at the start of the text. */
  ends: readonly number[]
  /** Text to append to make the JSON complete, if the text is cut off. */
  rest?: string | undefined
}

/** Maximum length of a text that is read. Longer ones could overflow the stack of regular expressions. */
const MAX_TEXT = 1024 * 1024

/** Matches strings and comments, also unterminated ones, words, and punctuation. */
const TOKENS =
  /"[^"\\]*(?:\\[\s\S][^"\\]*)*\\?"?|'[^'\\]*(?:\\[\s\S][^'\\]*)*\\?'?|\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[\w$.+-]+|[[\]{}:,]/g

const WORDS: Readonly<Record<string, readonly [json: string, mistake: Mistake]>> = {
  True: ['true', 'python_word'],
  False: ['false', 'python_word'],
  None: ['null', 'python_word'],
  NaN: ['null', 'not_a_number'],
  Infinity: ['null', 'not_a_number'],
  '-Infinity': ['null', 'not_a_number'],
  undefined: ['null', 'not_a_number'],
}

const CONTROL = /[^ -\uffff]/g
const ESCAPE = /\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?/g

/** Completes JSON after any cut: in a string, an escape sequence, a word or a number, or between two of them. */
const RESTS = [
  ...['', '"', '":0', ':0', '0', '"":0', '\\"', '\\":0', '0"', '00"', '000"', '0000"'],
  ...['rue', 'ue', 'e', 'alse', 'lse', 'se', 'ull', 'll', 'l'],
]

/** Reads text as JSON, and repairs the mistakes in it, token by token. */
function readLoosely(text: string): LooseReading {
  if (text.length > MAX_TEXT) return { mistakes: [], ends: [] }
  const mistakes = new Map<Mistake, number>()
  const note = (mistake: Mistake, index: number): void => {
    if (!mistakes.has(mistake)) mistakes.set(mistake, index)
  }
  const ends: number[] = []
  const repaired: string[] = []
  /** The brackets to close, innermost last. */
  const open: string[] = []
  /** The last comma: its index in `repaired`, and its index in the text. */
  let comma: readonly [place: number, index: number] | undefined
  let previous = ''
  let at = 0
  let isBroken = false
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    repaired.push(text.slice(at, index))
    at = index + token.length
    if (/^(?:\/\/|\/\*|#)/.test(token)) {
      note('comment', index)
      continue
    }
    if (token === '[' || token === '{') open.push(token === '[' ? ']' : '}')
    if (token === ']' || token === '}') {
      open.pop()
      if (comma) note('trailing_comma', comma[1])
      if (comma) repaired[comma[0]] = ''
    }
    comma = token === ',' && !/[[{]/.test(previous) ? [repaired.length, index] : undefined
    previous = token
    repaired.push(repairToken(token, index, /^\s*:/.test(text.slice(at, at + 20)), note))
    if (open.length > 0 || isBroken) continue
    isBroken = !isJson(text.slice(ends.at(-1) ?? 0, at))
    if (!isBroken) ends.push(at)
  }
  repaired.push(text.slice(at))
  if (ends.length > 0) return { mistakes: [], ends }
  const closing = open.reverse().join('')
  const rest = RESTS.find((each) => isJson(text + each + closing))
  const isRepaired = isJson(repaired.join(''))
  return { mistakes: isRepaired ? [...mistakes].sort(([, a], [, b]) => a - b) : [], ends, rest }
}

/** Writes a token as JSON, and notes what is wrong with it. */
function repairToken(
  token: string,
  index: number,
  isName: boolean,
  note: (mistake: Mistake, index: number) => void,
): string {
  if (!/^["']/.test(token)) {
    const isUnquoted = isName && /^[A-Za-z_$][\w$]*$/.test(token)
    const [word, mistake] = (Object.hasOwn(WORDS, token) && WORDS[token]) || [token]
    if (isUnquoted) note('unquoted_name', index)
    else if (mistake) note(mistake, index)
    return isUnquoted ? `"${token}"` : word
  }
  let json = token
  if (token.startsWith("'")) {
    note('single_quotes', index)
    json = token.replace(/\\.|"/gs, (part) => (part === '"' ? '\\"' : part === "\\'" ? "'" : part))
    json = `"${json.slice(1, -1)}"`
  }
  return json
    .replace(ESCAPE, (sequence, valid, at) => {
      if (!valid) note('escape', index + at)
      return valid ? sequence : ''
    })
    .replace(CONTROL, (_, at) => {
      note('control_character', index + at)
      return ' '
    })
}
