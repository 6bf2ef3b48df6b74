import { configInvalid, type WebhookError } from './errors.ts'
import { nearest } from './nearest.ts'

/** The names of all options in a type; the compiler finds missing and extra names. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>

/**
 * Requires an object without unknown options: a misspelt option would otherwise have no effect.
 *
 * @param options undefined counts as no options
 * @param kind what the names are called in the error
 * @throws {WebhookError} `config_invalid`
 */
export function requireKnownOptions(
  options: unknown,
  names: Readonly<Record<string, unknown>>,
  kind = 'option',
): void {
  if (options === undefined) return
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
export function requireObserver(observer: unknown, names: Readonly<Record<string, unknown>>): void {
  if (observer === undefined) return
  if (typeof observer !== 'object' || observer === null || Array.isArray(observer))
    throw configInvalid('observer must be an object of functions')
  if (isPlain(observer)) requireKnownOptions(observer, names, 'observer function')
  const members = Object.keys(names).filter((name) => name in observer)
  if (members.length === 0 && !isPlain(observer))
    throw configInvalid(`observer has none of the functions ${Object.keys(names).join(', ')}`)
  for (const name of members) requireFunction(observer, name)
}

function requireFunction(observer: object, name: string): void {
  let value: unknown
  try {
    value = Reflect.get(observer, name)
  } catch {
    return // an observer may throw at any time, and is ignored then
  }
  if (value !== undefined && typeof value !== 'function')
    throw configInvalid(`observer.${name} must be a function`)
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
