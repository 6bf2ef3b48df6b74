import { InvalidArgumentError } from 'commander'

/** Parses names separated by commas, and adds them to the previous ones. */
export function nameList(value: string, previous: readonly string[] = []): string[] {
  const names = value.split(',').map((name) => name.trim())
  if (names.every((name) => /^[a-z0-9-]{1,60}$/.test(name))) return [...previous, ...names]
  throw new InvalidArgumentError('must be ids or groups of scenarios, separated by commas')
}
