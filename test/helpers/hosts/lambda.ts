// Replaces AWS Lambda behind a function URL. Usage: node --import tsx lambda.ts <file> <name of the handler>
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LambdaResult } from 'geohook/lambda'
import { invoke } from '../mounts/lambda.ts'
import { serve } from './serve.ts'

const [file = '', name = ''] = process.argv.slice(2)
const module: Record<string, (event: unknown) => Promise<LambdaResult>> = await import(
  pathToFileURL(resolve(file)).href
)
const handler = module[name]
if (!handler) throw new Error(`${file} exports no ${name}`)
await serve((request) => invoke(handler, 'function URL', request), '/hooks/parcels')
