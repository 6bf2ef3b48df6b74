/** The profile of senders, by the dialect of their payloads. */
export const PROFILE_OF = { service: 'service', hosted: 'arcgis', organization: 'portal' } as const

/** The dialect of senders, by their profile. */
export const DIALECT_OF = { service: 'service', arcgis: 'hosted', portal: 'organization' } as const

/** The dialects of payloads (docs/senders.md, "Three dialects"). */
export type Dialect = 'service' | 'hosted' | 'organization'

export const DIALECTS: Dialect[] = ['service', 'hosted', 'organization']
export const PROFILES: (keyof typeof DIALECT_OF)[] = ['service', 'arcgis', 'portal']
