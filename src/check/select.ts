import { configInvalid } from '../errors.ts'
import { nearest } from '../options.ts'
import { ALL, type GroupedScenario } from './scenarios/index.ts'
import type { Sender } from './sender.ts'
import { GROUPS } from './types.ts'

/** What decides which scenarios run. */
export interface Selection {
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  readonly sideEffects?: boolean | undefined
}

/** @throws {WebhookError} `config_invalid` for a name that is neither an id nor a group */
export function requireNames({ only = [], skip = [] }: Selection): void {
  const known = [...GROUPS, ...ALL.map(({ id }) => id)]
  for (const name of [...only, ...skip]) {
    if (known.includes(name)) continue
    const meant = nearest(String(name), known)
    const hint = meant === undefined ? `The groups are ${GROUPS.join(', ')}.` : `Did you mean ${meant}?`
    throw configInvalid('only and skip must contain ids or groups of scenarios', hint)
  }
}

/** Returns why a scenario does not run, or undefined if it does. */
export function whySkipped(
  scenario: GroupedScenario,
  { only, skip = [], sideEffects = false }: Selection,
  { isSigned, profile }: Sender,
): string | undefined {
  const isIn = (names: readonly string[]): boolean =>
    names.includes(scenario.id) || names.includes(scenario.group)
  if (isIn(skip) || (only && !isIn(only))) return 'not selected'
  if (scenario.hasSideEffects && !sideEffects)
    return 'has side effects: it runs with sideEffects (--side-effects)'
  if (scenario.needsSignature && !isSigned) return `senders with the profile ${profile} do not sign the body`
  return undefined
}
