import { Radio, Stack } from "@mantine/core"
import { ROLES, ROLE_DESCRIPTIONS, roleDenialReason } from "../api/permissions.ts"
import { useMe } from "../api/session.ts"

interface RoleChoiceProps {
  readonly value: string
  readonly onChange: (role: string) => void
}

/** Chooses a role, with what each is for; what the reader may not give says why. */
export function RoleChoice({ value, onChange }: RoleChoiceProps) {
  const me = useMe()
  return (
    <Radio.Group label="Role" value={value} onChange={onChange}>
      <Stack gap="xs" mt={6}>
        {ROLES.map((role) => {
          const bar = roleDenialReason(me, role)
          return (
            <Radio
              key={role}
              value={role}
              label={roleText(role)}
              description={bar ?? ROLE_DESCRIPTIONS[role]}
              disabled={bar !== null}
            />
          )
        })}
      </Stack>
    </Radio.Group>
  )
}

/** A role as it is shown: `Owner`. */
export function roleText(role: string): string {
  return role.charAt(0).toUpperCase() + role.slice(1)
}
