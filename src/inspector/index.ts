export { createInspector, type InspectorHandler } from './app.ts'
export type { InspectorOptions } from './options.ts'
export type { RequestLogOptions } from './request-log/options.ts'
export { createRequestLog, type RequestLog } from './request-log/request-log.ts'
