import { configInvalid, type WebhookError } from './errors.ts'

/** Checks one value: returns what is wrong with it, such as `must be a string`, or undefined. */
export type Rule = (value: unknown) => string | undefined

/**
 * The names of all options in a type, each with the rule for its values, or with `true` if other code checks them. The
 * compiler finds missing and extra names.
 */
export type OptionNames<Options> = Readonly<Record<keyof Options, Rule | true>>

/**
 * Checks the names and the values of options.
 *
 * @param options undefined counts as no options
 * @param kind what the names are called in the error
 * @returns the options
 * @throws {WebhookError} `config_invalid`
 */
export function checkOptions<Options extends object>(
  options: Options | undefined,
  rules: OptionNames<Options>,
  kind?: string,
): Options {
  requireKnownOptions(options, rules, kind)
  const given = options ?? ({} as Options)
  // Keys alone, because verify() runs this for every body, and Object.entries() takes longer than the rest of the check.
  for (const name of Object.keys(rules) as (keyof Options & string)[]) {
    const rule = rules[name]
    if (rule !== true && given[name] !== undefined) requireValue(name, given[name], rule)
  }
  return given
}

/** @throws {WebhookError} `config_invalid` */
export function requireValue<Value>(name: string, value: Value, rule: Rule): Value {
  const problem = rule(value)
  if (problem) throw configInvalid(`${name} ${problem}`)
  return value
}

/** Creates a rule from the end of its message and a test. */
export const must =
  (text: string, isValid: (value: unknown) => unknown): Rule =>
  (value) =>
    isValid(value) ? undefined : `must ${text}`

export const isFunction: Rule = /* @__PURE__ */ must('be a function', (value) => typeof value === 'function')
export const isBoolean: Rule = /* @__PURE__ */ must('be true or false', (value) => typeof value === 'boolean')
export const isText: Rule = /* @__PURE__ */ must('be a string', (value) => typeof value === 'string')
export const isFilledText: Rule = (value) => isText(value) ?? (value === '' ? 'is empty' : undefined)

export const oneOf = (...values: readonly string[]): Rule =>
  must(`be one of ${values.join(', ')}`, (value) => values.includes(value as string))

/** For objects of the user, such as stores: without this rule, every delivery would fail. */
export const hasMethods = (...names: readonly string[]): Rule =>
  must(`be an object with ${names.join('(), ')}()`, (value) =>
    names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
  )

/** The rule of integers in a range, both limits included. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER, unit = ''): Rule {
  const range = max === Number.MAX_SAFE_INTEGER ? `, at least ${min}` : ` from ${min} to ${max}`
  return must(
    `be a whole number${unit}${range}`,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  )
}

/** The rule of delays. Node fires timers with a longer delay immediately. */
export const milliseconds = (min = 1, max: number = 2 ** 31 - 1): Rule =>
  wholeNumber(min, max, ' of milliseconds')

/**
 * Requires an object without unknown options: a misspelt option would otherwise have no effect.
 *
 * @param options undefined counts as no options
 * @param kind what the names are called in the error
 * @throws {WebhookError} `config_invalid`
 */
export function requireKnownOptions(
  options: unknown = {},
  names: Readonly<Record<string, unknown>>,
  kind = 'option',
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw configInvalid(`the ${kind}s must be an object`)
  for (const name of Object.keys(options)) if (!Object.hasOwn(names, name)) throw unknown(kind, name, names)
}

/**
 * Requires an object whose known members are functions. Plain objects must have no other members; instances of a class
 * may, because a class can have fields and methods of its own.
 *
 * @param observer undefined counts as an observer without functions
 * @throws {WebhookError} `config_invalid`
 */
export function requireObserver(observer: unknown = {}, names: Readonly<Record<string, unknown>>): void {
  if (typeof observer !== 'object' || observer === null || Array.isArray(observer))
    throw configInvalid('observer must be an object of functions')
  if (isPlain(observer)) requireKnownOptions(observer, names, 'observer function')
  const members = Object.keys(names).filter((name) => name in observer)
  if (members.length === 0 && !isPlain(observer))
    throw configInvalid(`observer has none of the functions ${Object.keys(names).join(', ')}`)
  for (const name of members) {
    let value: unknown
    try {
      value = Reflect.get(observer, name)
    } catch {} // an observer may throw at any time, and is ignored then
    if (value !== undefined) requireValue(`observer.${name}`, value, isFunction)
  }
}

/** True for objects from a literal, also of another realm, and for those without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function unknown(kind: string, name: string, names: Readonly<Record<string, unknown>>): WebhookError {
  const known = Object.keys(names)
  const meant = nearest(name, known)
  const suggestion = meant === undefined ? `the ${kind}s are ${known.join(', ')}` : `did you mean ${meant}?`
  return configInvalid(`unknown ${kind} ${name}: ${suggestion}`)
}

/** Describes an option without a value, which often comes from an environment variable that is not set. */
export function describeMissing(option: string, value: unknown): string {
  const problem = value === undefined || value === null ? `is missing: the value is ${value}` : 'is empty'
  return `${option} ${problem}. If it comes from an environment variable, check that the variable is set.`
}

/** Maximum number of edits between a misspelt name and the name that was meant. */
const MAX_EDITS = 2

/** Maximum length of a name to compare. It is limited because a sender may have chosen the name. */
const MAX_LENGTH = 64

/**
 * Returns the candidate most similar to a misspelt name, for "did you mean": at most two characters are inserted,
 * removed or replaced, and fewer than half of the name's. Ignores case. Returns undefined if no candidate is that
 * similar.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  let found: string | undefined
  let fewest = Math.min(MAX_EDITS + 1, name.length / 2)
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > MAX_EDITS) continue
    const edits = countEdits(name.toLowerCase(), candidate.toLowerCase())
    if (edits >= fewest) continue
    found = candidate
    fewest = edits
  }
  return found
}

/** Computes the Levenshtein distance, one row of the matrix at a time. */
function countEdits(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 0; i < from.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const [replaced = 0, removed = 0] = above.slice(j)
      const inserted = row[j] ?? 0
      row.push(Math.min(replaced + Number(from[i] !== to[j]), removed + 1, inserted + 1))
    }
    above = row
  }
  return above[to.length] ?? 0
}

/** @throws {WebhookError} `config_invalid` */
export function readSize(option: string, size: number | string, min = 1): number {
  const [, digits, unit = ''] = (typeof size === 'string' && /^(\d+) ?([kmg]?)b$/i.exec(size)) || []
  // The index of the unit letter is the power of 1024; without a letter it is 0.
  const power = ' kmg'.indexOf(unit.toLowerCase())
  const bytes = typeof size === 'number' ? size : Number(digits) * 1024 ** power
  if (Number.isSafeInteger(bytes) && bytes >= min) return bytes
  throw configInvalid(`${option} must be a number of bytes, or a string such as '1mb'; at least ${min} bytes`)
}
