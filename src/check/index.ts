export { checkReceiver } from './check-receiver.ts'
export { toHtml, toJUnit } from './reports.ts'
export { SCENARIOS } from './scenarios/all.ts'
export type {
  CheckOptions,
  CheckReport,
  CheckResult,
  Conclusion,
  Finding,
  Group,
  HandlerSwitch,
  Level,
  Observer,
  ScenarioText,
  Verdict,
} from './types.ts'
