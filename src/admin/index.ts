export type { AdminCode } from '../errors.ts'
export type { TokenSource } from '../shared/tokens.ts'
export { createAdmin } from './admin.ts'
export { AdminError } from './errors.ts'
export { showWebhook } from './members.ts'
export { type SignIn, type SignInOptions, signIn } from './sign-in.ts'
export type {
  Admin,
  AdminOptions,
  AdminSettings,
  ChangeResult,
  Deactivation,
  Difference,
  EditOptions,
  Member,
  NewWebhook,
  Notification,
  PortalWebhook,
  Product,
  Schedule,
  ServiceWebhook,
  Webhook,
  WebhookChanges,
  Webhooks,
} from './types.ts'
