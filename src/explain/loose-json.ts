import { tryJson } from '../shared/json.ts'

/** A deviation from JSON that people and programs make by mistake. */
export type Mistake =
  | 'single_quotes'
  | 'python_word'
  | 'unquoted_name'
  | 'trailing_comma'
  | 'comment'
  | 'not_a_number'
  | 'control_character'
  | 'escape'

/** What is wrong with a text that should be a JSON object or array. */
export interface LooseReading {
  /** The mistakes without which the text would be JSON, each with the index of its first occurrence, in order. */
  mistakes: readonly (readonly [mistake: Mistake, index: number])[]
  /** Where each of the JSON documents ends with which the text begins. */
  ends: readonly number[]
  /** What completes a text that is the start of JSON. */
  rest?: string | undefined
}

/** A larger text is not read. It could overflow the stack of regular expressions. */
const MAX_TEXT = 1024 * 1024

/** Strings and comments, also without their ends, words, and punctuation. */
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

const isStructure = (json: string): boolean => /^\s*[[{]/.test(json) && tryJson(json) !== undefined

/** Reads text as JSON, and repairs the mistakes in it, token by token. */
export function readLoosely(text: string): LooseReading {
  if (text.length > MAX_TEXT) return { mistakes: [], ends: [] }
  const mistakes = new Map<Mistake, number>()
  const note = (mistake: Mistake, index: number): void => {
    if (!mistakes.has(mistake)) mistakes.set(mistake, index)
  }
  const ends: number[] = []
  const repaired: string[] = []
  /** The brackets to close, innermost last. */
  const open: string[] = []
  /** The last comma: its place in the repaired text, and its index. */
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
    isBroken = !isStructure(text.slice(ends.at(-1) ?? 0, at))
    if (!isBroken) ends.push(at)
  }
  repaired.push(text.slice(at))
  if (ends.length > 0) return { mistakes: [], ends }
  const closing = open.reverse().join('')
  const rest = RESTS.find((each) => isStructure(text + each + closing))
  const isRepaired = isStructure(repaired.join(''))
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
