export { checkReceiver } from './check-receiver.ts'
export type { CheckOptions, Observer } from './options.ts'
export { SCENARIOS } from './scenarios/index.ts'
export type {
  CheckReport,
  CheckResult,
  Conclusion,
  Finding,
  Group,
  Level,
  ScenarioText,
  Verdict,
} from './types.ts'
