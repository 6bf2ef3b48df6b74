// For Bun and Deno, which have node:crypto, but not Node's event loop.
export { importKey, isSync, sha256 } from './runtime.node.ts'
export * from './runtime.web.ts'
