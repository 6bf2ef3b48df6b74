/** The profile of senders, by the dialect of their payloads. */
export const PROFILE_OF = { service: 'service', hosted: 'arcgis', organization: 'portal' } as const

/** The dialect of senders, by their profile. */
export const DIALECT_OF = { service: 'service', arcgis: 'hosted', portal: 'organization' } as const
