export { checkReceiver } from './check-receiver.ts'
export { toHtml, toJUnit } from './reports.ts'
export { SCENARIOS } from './scenarios/all.ts'
export type {
  CheckOptions,
  CheckReport,
  CheckResult,
  Conclusion,
  HandlerSwitch,
  Observer,
  Verdict,
} from './types.ts'
