/** A title as it stands in an address: lower case, words joined by hyphens. */
export function slug(title) {
  return title.toLowerCase().replace(/[^a-z0-9]/g, "-")
}
