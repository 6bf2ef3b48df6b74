// Replaces the Azure Functions host and worker. Usage: node --import tsx azure.ts <file>
import { Module } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { HttpHandler, InvocationContext } from '@azure/functions'
import { toHostResponse, toHttpRequest } from '../mounts/azure.ts'
import { serve } from './serve.ts'

interface Metadata {
  name: string
  bindings: Record<string, { type: string; authLevel?: string; methods?: string[]; route?: string }>
}
interface Registered {
  handler: HttpHandler
  authLevel: string | undefined
  methods: readonly string[]
}

const functions = new Map<string, Registered>()

/** Replaces `@azure/functions-core`, which the worker provides and which is not on npm. */
const core = {
  setProgrammingModel() {},
  registerFunction({ name, bindings }: Metadata, handler: HttpHandler) {
    const trigger = Object.values(bindings).find(({ type }) => type === 'httpTrigger')
    if (!trigger) throw new Error(`${name} has no HTTP trigger`)
    const { authLevel, methods = [], route = name } = trigger
    functions.set(`/api/${route}`, { handler, authLevel, methods })
  },
}

// Patches `require` to return `core`, as the worker does.
const { require: load } = Module.prototype
Module.prototype.require = function require(this: Module, id: string) {
  return id === '@azure/functions-core' ? core : load.call(this, id)
} as typeof load

const [file = ''] = process.argv.slice(2)
await import(pathToFileURL(resolve(file)).href)

await serve(async (request) => {
  const { handler, authLevel, methods } = functions.get(request.path) ?? {}
  if (!handler || !methods?.includes(request.method)) return { status: 404, headers: [], body: '' }
  if (authLevel !== 'anonymous') return { status: 401, headers: [], body: '' }
  return toHostResponse((await handler(toHttpRequest(request), {} as InvocationContext)) ?? {})
}, '/api/hooks/parcels')
