import { nearest } from '../options.ts'
import { KNOWN_CHANGE_TYPES, WILDCARD } from '../payload/events.ts'
import { printable, warn } from './log.ts'

/** Maximum number of change types to warn about. It is limited because senders choose the names. */
const MAX_WARNED = 32

/** Maximum length of a change type in a warning, and of the list of registered names, in characters. */
const MAX_LENGTH = 64
const MAX_LIST = 500

/** Warns about a name that is not a known change type, but nearly one: its handler would never run. */
export function warnIfMisspelt(name: string): void {
  if (name === WILDCARD || KNOWN_CHANGE_TYPES.includes(name)) return
  const meant = nearest(name, KNOWN_CHANGE_TYPES)
  if (meant) {
    warn(
      `on(${quote(name)}): did you mean ${quote(meant)}? The names are case-sensitive.`,
      'change_type_misspelt',
    )
  }
}

/**
 * Returns a function that warns about an event without a handler, once for each change type: senders choose which
 * change types they send, and a misspelt name in `on` would otherwise lose its events without a word.
 */
export function createUnhandledWarning(): (changeType: string, registered: ReadonlySet<string>) => void {
  const warned = new Set<string>()
  return (changeType, registered) => {
    if (warned.size >= MAX_WARNED) return
    const name = quote(changeType)
    if (warned.has(name)) return
    warned.add(name)
    const message = describe(changeType, name, registered)
    const isLast = warned.size === MAX_WARNED
    warn(isLast ? `${message} Further change types are not reported.` : message, 'change_type_unhandled')
  }
}

function describe(changeType: string, name: string, registered: ReadonlySet<string>): string {
  if (registered.size === 0) {
    return `No handler ran for the change type ${name}, because the receiver has none: call receiver.on(changeType, handler).`
  }
  const names = [...registered].map(quote).join(', ').slice(0, MAX_LIST)
  if (changeType === '')
    return `No handler ran for an event without a change type: only on("*") receives it. Registered: ${names}.`
  const meant = nearest(changeType, registered)
  const fix = meant
    ? `Did you mean on(${name}) instead of on(${quote(meant)})?`
    : `Call receiver.on(${name}, handler), with an empty handler to ignore it.`
  return `No handler ran for the change type ${name}. Registered: ${names}. ${fix}`
}

/** Quotes a name. The result is a new string: a substring would keep the whole name in memory. */
const quote = (name: string): string => JSON.stringify(printable(name.slice(0, MAX_LENGTH)))
