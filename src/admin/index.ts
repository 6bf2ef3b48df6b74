export type { AdminCode } from '../errors.ts'
export type { TokenSource } from '../shared/tokens.ts'
export { createAdmin } from './admin.ts'
export { AdminError } from './errors.ts'
export {
  type DeclaredWebhook,
  type KeyReference,
  type PulledVariable,
  pullWebhooks,
  readWebhookFile,
  type WebhookFile,
} from './file.ts'
export { showWebhook } from './members.ts'
export {
  type AppliedChange,
  applyPlan,
  type Plan,
  type PlannedChange,
  type PlannedService,
  type PlanOptions,
  planWebhooks,
} from './plan.ts'
export { type SignIn, type SignInOptions, signIn } from './sign-in.ts'
export type * from './types.ts'
