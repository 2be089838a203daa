/**
 * What a charge names as its resource: the id of the thing that was paid for, and behind an `@` where
 * that is found, if the id does not say so itself.
 */

/** A name of its kind and a unique part, and the place. */
const LOCATED_RESOURCE = /^([a-z]+_\w+)@(.*)$/s

/** Names a thing of which only its place tells where it is found. */
export function locatedResource(id: string, place: string): string {
  return `${id}@${place}`
}

/** The id of the thing, and where it is found; null where the resource does not say that. */
export function parseLocatedResource(
  resource: string,
): { readonly id: string; readonly location: string } | null {
  const [, id, location] = LOCATED_RESOURCE.exec(resource) ?? []
  return id === undefined || location === undefined ? null : { id, location }
}

/** The resource as its owner knows it: without where it is found. */
export function resourceId(resource: string): string {
  return parseLocatedResource(resource)?.id ?? resource
}
