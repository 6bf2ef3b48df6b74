import type { Mount } from '../mounts.ts'
import { mountAzure, mountAzureStreaming } from './azure.ts'
import { mountLambda } from './lambda.ts'
import { mountH3, mountHono } from './web.ts'

/** Frameworks of Request and Response, and hosts that call a function. */
export const SERVERLESS_AND_WEB: Record<string, Mount> = {
  Hono: mountHono,
  h3: mountH3,
  'Lambda REST API': mountLambda('REST API'),
  'Lambda HTTP API': mountLambda('HTTP API'),
  'Lambda function URL': mountLambda('function URL'),
  'Lambda ALB': mountLambda('ALB'),
  'Lambda ALB multi-value': mountLambda('ALB multi-value'),
  'Azure Functions': mountAzure,
  'Azure Functions (streams)': mountAzureStreaming,
}
