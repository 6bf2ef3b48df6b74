/**
 * The generations of feature services up to which all changes have been handled, by service and layer. `geohook/changes`
 * keeps them in the store of an inbox.
 *
 * Every method is atomic, and its changes are as durable as a delivery that `put` has stored.
 */
export interface GenerationStore {
  /**
   * Returns the last handled generation of each layer; empty for an unknown service.
   *
   * @param service URL of the feature service, at most 2,000 characters
   */
  get(service: string): Promise<ReadonlyMap<number, number>>
  /** Raises the generations of layers. A generation that is lower than the stored one changes nothing. */
  raise(service: string, generations: ReadonlyMap<number, number>): Promise<void>
  /** Replaces all generations of a service, also by lower ones. An empty map forgets the service. */
  replace(service: string, generations: ReadonlyMap<number, number>): Promise<void>
}
