import type { ServiceSeed } from '../state/services.ts'
import type { LayerData } from './layer-data.ts'

/** Placeholder until seeds are read. */
export const toLayers = (_seed: ServiceSeed, _now: number): LayerData[] => []
