import { createInspector } from '../../../src/inspector/index.ts'
import type { InspectorOptions } from '../../../src/inspector/options.ts'
import { type Served, serve } from '../../helpers/served.ts'

/** Serves an inspector until the test ends. */
export const serveInspector = (
  inspected: Parameters<typeof createInspector>[0],
  options?: InspectorOptions,
): Promise<Served> => serve(createInspector(inspected, options))
