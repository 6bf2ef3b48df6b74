// For Bun and Deno, which have node:crypto, but not Node's event loop.
export * from '../platform/platform.web.ts'
export * from '../signature/hmac.node.ts'
