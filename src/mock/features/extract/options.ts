import { z } from 'zod'

/** A version of change extraction. Parameters of later versions are ignored, as unknown ones are. */
export type ExtractVersion = '10.6.1' | '10.9' | '11.0' | '11.1'

const EXTRACT_VERSIONS: readonly ExtractVersion[] = ['10.6.1', '10.9', '11.0', '11.1']

/** Options of change extraction: how feature services answer `extractChanges`. */
export interface ExtractChangesOptions {
  /**
   * `'job'`: the response has the URL of a job; `'embedded'`: it has the changes. Default `'auto'`: as the request
   * says, and a job for a request that says nothing.
   */
  answer?: 'auto' | 'job' | 'embedded' | undefined
  /**
   * The states of a job before `Completed`, in this order, 1 to 20. Default `['ExportChanges', 'ExportAttachments']`.
   */
  states?: readonly string[] | undefined
  /** Number of polls that find a job unfinished, 0 to 1000. Default 2. */
  polls?: number | undefined
  /** Milliseconds that a job takes at least, by the clock of the mock, 0 to 86,400,000. Default 0. */
  duration?: number | undefined
  /**
   * Milliseconds after its last use until a file is removed, by the clock of the mock, 1,000 to 604,800,000. Default
   * 600,000.
   */
  fileLifetime?: number | undefined
  /**
   * Whether the URL of a file redirects to a signed URL on another host, which accepts no token. Default: only with
   * `dialect: 'hosted'`.
   */
  redirect?: boolean | undefined
  /** Default `'11.1'`. */
  version?: ExtractVersion | undefined
}

/** The options with their defaults. */
export type ResolvedExtractOptions = {
  [name in keyof ExtractChangesOptions]-?: NonNullable<ExtractChangesOptions[name]>
}

const state = z
  .string()
  .min(1)
  .max(64)
  .refine((name) => !['completed', 'failed'].includes(name.toLowerCase()), 'is the end of a job')

/** Adds the defaults, except that of `redirect`. */
export const extractChangesSchema: z.ZodObject = z.strictObject({
  answer: z.enum(['auto', 'job', 'embedded']).default('auto'),
  states: z.array(state).min(1).max(20).default(['ExportChanges', 'ExportAttachments']),
  polls: z.int().min(0).max(1000).default(2),
  duration: z.int().min(0).max(86_400_000).default(0),
  fileLifetime: z.int().min(1_000).max(604_800_000).default(600_000),
  redirect: z.boolean().optional(),
  version: z.enum(EXTRACT_VERSIONS).default('11.1'),
})

/** True if a service with these options supports the features added in version `since`. */
export const extractsSince = (
  { version }: Pick<ResolvedExtractOptions, 'version'>,
  since: ExtractVersion,
): boolean => EXTRACT_VERSIONS.indexOf(version) >= EXTRACT_VERSIONS.indexOf(since)

/** The options of `extractChanges` that a service has, as in its description. */
export const extractChangesCapabilities = (options: ResolvedExtractOptions): Record<string, boolean> => ({
  supportsReturnIdsOnly: true,
  supportsReturnExtentOnly: false,
  supportsLayerQueries: true,
  supportsGeometry: false,
  supportsReturnHasGeometryUpdates: extractsSince(options, '10.9'),
  supportsReturnFeature: extractsSince(options, '11.0'),
  supportsReturnAttachments: extractsSince(options, '11.0'),
  supportsServerGens: extractsSince(options, '11.0'),
  supportsFieldsToCompare: extractsSince(options, '11.0'),
  supportsReturnDeletedFeatures: extractsSince(options, '11.1'),
})
