import { MAX_DEPTH } from '../payload/json.ts'

/** A deviation from JSON that people and programs make by mistake. */
export type Mistake =
  | 'single_quotes'
  | 'python_word'
  | 'ruby_arrow'
  | 'ruby_nil'
  | 'unquoted_name'
  | 'trailing_comma'
  | 'comment'
  | 'not_a_number'
  | 'control_character'
  | 'escape'
  | 'forbidden_key'
  | 'too_deep'

/** The result of reading text as JSON with the mistakes allowed. */
export interface LooseReading {
  /**
   * `whole`: the text is one value. `cut`: it ends early. `unclosed`: it ends inside a string, but with a closing
   * bracket, so a quote may be missing. `more`: text follows the value.
   */
  outcome: 'whole' | 'cut' | 'unclosed' | 'more' | 'invalid'
  /** Where reading stopped, as an index of the text. */
  at: number
  /** The mistakes, each with the index of its first occurrence, in order. */
  mistakes: ReadonlyMap<Mistake, number>
  /** True if the value is an object or array. */
  isStructure: boolean
}

type Expected = 'value' | 'name' | 'colon' | 'comma' | 'end'

const WORDS: Readonly<Record<string, Mistake | true>> = {
  true: true,
  false: true,
  null: true,
  True: 'python_word',
  False: 'python_word',
  None: 'python_word',
  nil: 'ruby_nil',
  NaN: 'not_a_number',
  Infinity: 'not_a_number',
  '-Infinity': 'not_a_number',
  undefined: 'not_a_number',
}

const SPACE = /[ \t\r\n]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y
const CUT_NUMBER = /-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?$/y
const WORD = /-?[A-Za-z_$][\w$]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const CUT_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/y

/** Reads JSON in linear time and without recursion, and lists the mistakes in it. */
export function readLoosely(text: string): LooseReading {
  const mistakes = new Map<Mistake, number>()
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  /** Index of the comma that was read last, or -1 if something else was. */
  let comma = -1
  /** True directly after an opening bracket. */
  let isOpened = false
  let isStructure = false
  let at = 0

  const note = (mistake: Mistake, index = at): void => {
    if (!mistakes.has(mistake)) mistakes.set(mistake, index)
  }
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0] ?? ''
  }
  const done = (outcome: LooseReading['outcome']): LooseReading => ({
    outcome,
    at,
    mistakes,
    isStructure,
  })
  const afterValue = (): Expected => (open.length > 0 ? 'comma' : 'end')

  /** Returns true if a text was read to its closing quote. */
  function readText(quote: string): boolean {
    for (at++; at < text.length; at++) {
      const character = text[at] as string
      if (character === quote) {
        at++
        return true
      }
      if (character === '\\') {
        if (match(ESCAPE) === '' && match(CUT_ESCAPE) === '') note('escape')
        at++
      } else if (character < ' ') note('control_character')
    }
    return false
  }

  function close(character: string): boolean {
    const isClosed = open.at(-1) === (character === '}' ? '{' : '[')
    if (isClosed && comma >= 0) note('trailing_comma', comma)
    if (isClosed) open.pop()
    at++
    comma = -1
    expected = afterValue()
    return isClosed
  }

  for (;;) {
    at += match(SPACE).length
    const end = endOfComment(text, at)
    if (end > at) {
      note('comment')
      at = end
      continue
    }
    if (at >= text.length) return done(expected === 'end' ? 'whole' : 'cut')
    const character = text[at] as string
    if (expected === 'end') return done('more')
    const canClose = expected === 'comma' || comma >= 0 || isOpened
    isOpened = false
    if ((character === '}' || character === ']') && expected !== 'colon' && canClose) {
      if (!close(character)) return done('invalid')
    } else if (expected === 'comma') {
      if (character !== ',') return done('invalid')
      comma = at++
      expected = open.at(-1) === '{' ? 'name' : 'value'
      continue
    } else if (expected === 'colon') {
      const arrow = text.startsWith('=>', at)
      if (arrow) note('ruby_arrow')
      else if (character !== ':') return done('invalid')
      at += arrow ? 2 : 1
      expected = 'value'
    } else if (character === '"' || character === "'") {
      if (character === "'") note('single_quotes')
      const start = at
      if (!readText(character)) return done(/[}\]]$/.test(text.trimEnd()) ? 'unclosed' : 'cut')
      if (expected === 'name' && text.slice(start + 1, at - 1) === '__proto__') note('forbidden_key', start)
      expected = expected === 'name' ? 'colon' : afterValue()
    } else if (expected === 'name') {
      const name = match(WORD)
      if (name === '') return done('invalid')
      note('unquoted_name')
      if (name === '__proto__') note('forbidden_key')
      at += name.length
      expected = 'colon'
    } else if (character === '{' || character === '[') {
      open.push(character)
      if (open.length > MAX_DEPTH) note('too_deep')
      isOpened = true
      isStructure = true
      at++
      expected = character === '{' ? 'name' : 'value'
    } else {
      const word = match(WORD)
      const known = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
      const number = word === '' ? match(NUMBER) : ''
      if (known === undefined && number === '') {
        const isCut =
          word === '' ? match(CUT_NUMBER) !== '' : isCutWord(word, at + word.length === text.length)
        return done(isCut ? 'cut' : 'invalid')
      }
      if (typeof known === 'string') note(known)
      at += number.length || word.length
      expected = afterValue()
    }
    comma = -1
  }
}

const isCutWord = (word: string, isLast: boolean): boolean =>
  isLast && ['true', 'false', 'null'].some((known) => known.startsWith(word))

/** Returns the index after the comment that begins here, or -1. A regular expression could overflow its stack. */
function endOfComment(text: string, at: number): number {
  const isBlock = text.startsWith('/*', at)
  if (!isBlock && text[at] !== '#' && !text.startsWith('//', at)) return -1
  const end = isBlock ? text.indexOf('*/', at + 2) : text.indexOf('\n', at)
  if (end < 0) return isBlock ? -1 : text.length
  return isBlock ? end + 2 : end
}
