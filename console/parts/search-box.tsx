import { TextInput } from "@mantine/core"
import { useFilters } from "./filters.ts"
import { SearchIcon } from "./icons.tsx"

interface SearchBoxProps {
  /** In the address. */
  readonly name: string
  readonly label: string
}

/** Narrows the list below to what holds a text; Enter takes it into the address. */
export function SearchBox({ name, label }: SearchBoxProps) {
  const [filters, setFilters] = useFilters()
  const now = filters[name] ?? ""
  return (
    <form
      role="search"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        const typed = new FormData(event.currentTarget).get(name)
        setFilters({ [name]: typeof typed === "string" ? typed.trim() : "" })
      }}
    >
      <TextInput
        // What the address has is shown, also where somebody goes back.
        key={now}
        name={name}
        type="search"
        size="xs"
        w={{ base: 170, sm: 220 }}
        aria-label={label}
        placeholder={label}
        leftSection={<SearchIcon />}
        defaultValue={now}
      />
    </form>
  )
}
