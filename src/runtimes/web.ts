// For workers, edge runtimes and browsers.
export * from '../platform/platform.web.ts'
export * from '../signature/hmac.web.ts'
