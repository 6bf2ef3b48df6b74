export { checkReceiver } from './check-receiver.ts'
export type { CheckOptions, HandlerSwitch, Observer } from './options.ts'
export { toHtml } from './reports/html.ts'
export { toJUnit } from './reports/junit.ts'
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
