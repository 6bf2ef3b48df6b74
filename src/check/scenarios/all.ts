import type { Scenario } from '../judge.ts'
import type { Group, ScenarioText } from '../types.ts'
import { ACCEPTANCE } from './acceptance.ts'
import { BODIES } from './bodies.ts'
import { CONNECTIONS } from './connections.ts'
import { DELIVERIES } from './deliveries.ts'
import { LIMITS } from './limits.ts'
import { HANDSHAKE, METHODS } from './methods.ts'
import { ODD_BODIES } from './odd-bodies.ts'
import { RESPONSES } from './responses.ts'
import { SIGNATURES } from './signatures.ts'
import { TLS } from './tls.ts'

const GROUPED: Readonly<Record<Group, readonly Scenario[]>> = {
  acceptance: ACCEPTANCE,
  signatures: SIGNATURES,
  bodies: [...BODIES, ...ODD_BODIES],
  limits: LIMITS,
  methods: METHODS,
  handshake: HANDSHAKE,
  deliveries: DELIVERIES,
  connections: CONNECTIONS,
  responses: RESPONSES,
  tls: TLS,
}

/** A scenario with its group. */
export interface GroupedScenario extends Scenario {
  readonly group: Group
}

/** All scenarios, in the order of the report. */
export const ALL: readonly GroupedScenario[] = Object.entries(GROUPED).flatMap(([group, scenarios]) =>
  scenarios.map((scenario) => ({ ...scenario, group: group as Group })),
)

/** Id, group, level, title, reason and fix of every scenario, in the order of the report. */
export const SCENARIOS: readonly (ScenarioText & {
  readonly group: Group
  readonly hasSideEffects: boolean
})[] = ALL.map(({ needsSignature: _, phase: __, run: ___, hasSideEffects = false, ...text }) => ({
  ...text,
  hasSideEffects,
}))
