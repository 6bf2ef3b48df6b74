export { type InspectorHandler, inspector } from './app.ts'
export type { InspectorOptions } from './options.ts'
export type { ReceptionOptions } from './reception/options.ts'
export { createReception, type Reception } from './reception/reception.ts'
