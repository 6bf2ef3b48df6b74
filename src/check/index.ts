export { checkReceiver } from './check-receiver.ts'
export { toHtml, toJUnit } from './reports.ts'
export { SCENARIOS } from './scenarios/all.ts'
export type {
  CheckObserver,
  CheckOptions,
  CheckReport,
  CheckResult,
  CheckVerdict,
  Conclusion,
  HandlerSwitch,
} from './types.ts'
