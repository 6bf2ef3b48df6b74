import { tryJson } from '../../payload/json.ts'
import { utf8 } from '../../shared/bytes.ts'
import { fromBase64 } from '../codecs.ts'
import { decodeAs } from '../text.ts'
import type { Finding } from '../types.ts'
import { type LooseReading, type Mistake, readLoosely } from './loose-json.ts'
import { findPrinted } from './printed.ts'
import { findReason, grouped, type Reason } from './refused.ts'

/** Text that should be JSON: a body, or the field payload of a form. */
interface JsonText {
  text: string
  /** What the text is: the body or the payload field. */
  noun: string
  /** False if a byte order mark before the text was removed. */
  isWhole: boolean
  value: unknown
  reading: LooseReading
  /** Describes a position without repeating the text. */
  where(index: number): string
}

const isStructure = (value: unknown): boolean => typeof value === 'object' && value !== null

/** Each mistake with the cause that it has if it is the first one. */
const MISTAKES: Readonly<Record<Mistake, readonly [cause: Reason<JsonText>[0], description: string]>> = {
  single_quotes: ['payload_printed', 'a text in single quotes'],
  python_word: ['payload_printed', 'True, False or None, as Python prints them'],
  ruby_arrow: ['payload_printed', 'an arrow (=>) in place of a colon, as Ruby prints it'],
  ruby_nil: ['payload_printed', 'nil, as Ruby prints it'],
  trailing_comma: ['payload_trailing_comma', 'a comma before a closing bracket'],
  comment: ['payload_comment', 'a comment'],
  not_a_number: ['payload_not_a_number', 'NaN, Infinity or undefined'],
  unquoted_name: ['payload_unquoted_name', 'a name without quotes'],
  control_character: ['payload_control_character', 'a control character, such as a line feed, inside a text'],
  escape: ['payload_escape', 'a backslash that begins no valid escape sequence'],
  forbidden_key: ['payload_forbidden_key', 'the forbidden key __proto__'],
  too_deep: ['payload_too_deep', 'more than 64 levels of objects and arrays'],
}

/** Reasons for texts that are JSON except for these mistakes. The evidence names all of them, in order. */
const ALMOST_JSON: readonly Reason<JsonText>[] = [
  ...new Set(Object.values(MISTAKES).map(([cause]) => cause)),
].map((cause) => [
  cause,
  ({ reading: { outcome, mistakes, isStructure }, noun, where }) => {
    const found = [...mistakes].sort(([, a], [, b]) => a - b)
    if (outcome !== 'whole' || !isStructure || !found[0] || MISTAKES[found[0][0]][0] !== cause)
      return undefined
    const names = found.map(([name, at]) => `${MISTAKES[name][1]} ${where(at)}`)
    return `The ${noun} has ${names.join(', and ')}, and is JSON otherwise.`
  },
])

/** Why text is not a JSON object or array, most specific first. */
const REASONS: readonly Reason<JsonText>[] = [
  [
    'payload_empty',
    ({ text, noun, isWhole }) =>
      text.trim() === '' &&
      `The ${noun} ${text === '' && isWhole ? 'is empty' : 'has only white space or a byte order mark'}.`,
  ],
  [
    'payload_bom',
    ({ text, noun }) =>
      /^\ufeff/.test(text) &&
      readLoosely(text.replace(/^\ufeff+/, '')).outcome === 'whole' &&
      `The ${noun} begins with more than one byte order mark.`,
  ],
  [
    'payload_double_encoded',
    ({ value, noun }) =>
      typeof value === 'string' &&
      isStructure(tryJson(value)) &&
      `The ${noun} is a JSON string that contains JSON: it was encoded twice.`,
  ],
  [
    'payload_scalar',
    ({ value, noun }) =>
      value !== undefined &&
      !isStructure(value) &&
      `The ${noun} is valid JSON, but ${value === null ? 'null' : `a ${typeof value}`} in place of an object or array.`,
  ],
  ['payload_base64', ({ text, noun }) => isStructure(parseBase64(text)) && `The ${noun} is JSON in base64.`],
  [
    'payload_percent_encoded',
    ({ text, noun }) =>
      /^%[57]b/i.test(text) && isStructure(percentDecoded(text)) && `The ${noun} is percent-encoded JSON.`,
  ],
  [
    'payload_printed',
    ({ text, noun }) => {
      const found = findPrinted(text.trim())
      return found && `The ${noun} is ${found}.`
    },
  ],
  [
    'payload_markup',
    ({ text, noun }) => {
      const [, html, xml] = /^\s*<(?:(!doctype html|html)|(\?xml|!--|[a-z][\w:.-]*[\s/>]))/i.exec(text) ?? []
      return (html ?? xml) !== undefined && `The ${noun} is ${html ? 'an HTML page' : 'XML or HTML'}.`
    },
  ],
  [
    'payload_cut_off',
    ({ reading, text, noun, where }) =>
      reading.outcome === 'cut' &&
      reading.mistakes.size === 0 &&
      /^\s*[{[]/.test(text) &&
      `The JSON in the ${noun} ends early, ${where(reading.at)}.`,
  ],
  [
    'payload_several',
    ({ text, reading, noun, where }) =>
      isMore(text, reading) &&
      countDocuments(text.slice(reading.at)) > 0 &&
      `The ${noun} has several JSON documents: the first ends ${where(reading.at)}.`,
  ],
  [
    'payload_trailing_text',
    ({ text, reading, noun, where }) =>
      isMore(text, reading) && `The JSON in the ${noun} is complete ${where(reading.at)}, but text follows.`,
  ],
  ...ALMOST_JSON,
  [
    'payload_unquoted_name',
    ({ reading, text, noun }) =>
      reading.outcome === 'invalid' &&
      /^\s*\{\s*(serviceName|serviceType|events|eventType|changeTypes?|webhookName)\s*:/.test(text) &&
      `The names in the ${noun} have no quotes: a shell may have removed them.`,
  ],
  [
    'payload_malformed',
    ({ reading, noun }) =>
      reading.outcome === 'unclosed' &&
      `The ${noun} ends inside a text: a quote is missing or escaped, or the end of the ${noun} is cut off.`,
  ],
  [
    'payload_malformed',
    ({ reading, text, noun, where }) =>
      reading.outcome === 'invalid' &&
      /^\s*[{[]/.test(text) &&
      `The ${noun} begins like JSON, but is no longer JSON ${where(reading.at)}.`,
  ],
]

const isMore = (text: string, { outcome, mistakes }: LooseReading): boolean =>
  outcome === 'more' && mistakes.size === 0 && /^\s*[{[]/.test(text)

/** Returns how many documents the text has, or 0 if it is not a series of objects or arrays. */
function countDocuments(text: string): number {
  let count = 0
  for (let rest = text; rest.trim() !== ''; count++) {
    if (!/^\s*[{[]/.test(rest) || count > 1000) return count > 1000 ? count : 0
    const { outcome, at, mistakes } = readLoosely(rest)
    if ((outcome !== 'more' && outcome !== 'whole') || mistakes.size > 0) return 0
    rest = rest.slice(at)
  }
  return count
}

function parseBase64(text: string): unknown {
  const bare = text.replace(/\s/g, '')
  if (bare.length < 4 || !/^"?[\w+/-]+={0,2}"?$/.test(bare)) return undefined
  const bytes = fromBase64(bare.replaceAll('"', ''))
  return bytes && tryJson(decodeAs(bytes, 'utf-8') ?? '')
}

function percentDecoded(text: string): unknown {
  try {
    return tryJson(decodeURIComponent(text.replaceAll('+', ' ')))
  } catch {
    return undefined
  }
}

/**
 * Explains why text is not a JSON object or array. Returns undefined if no hypothesis is certain.
 *
 * @param bom number of bytes before the text
 */
export function explainJson(text: string, noun: string, bom = 0): Finding | undefined {
  const isBody = noun === 'body'
  return findReason(REASONS, {
    text,
    noun,
    isWhole: bom === 0,
    value: tryJson(text),
    reading: readLoosely(text),
    where: (index) =>
      isBody
        ? `at byte ${grouped(bom + utf8(text.slice(0, index)).length)}`
        : `at character ${grouped(index)}`,
  })
}
