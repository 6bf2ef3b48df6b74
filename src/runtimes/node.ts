// The code that depends on the runtime, in one file, because each file takes Node time to load.
export * from '../platform/platform.node.ts'
export * from '../signature/hmac.node.ts'
