import { NavLink } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";

const PLACES = [
  { to: "/connections", label: "Connections" },
  { to: "/agents", label: "Connect an agent" },
  { to: "/tokens", label: "Tokens and clients" },
  { to: "/activity", label: "Activity" },
] as const;

/** Where one can go. */
export function Navigation() {
  const { pathname } = useLocation();
  return PLACES.map(({ to, label }) => {
    const isHere = pathname === to || pathname.startsWith(`${to}/`);
    return (
      <NavLink
        key={to}
        component={Link}
        to={to}
        label={label}
        active={isHere}
        {...(isHere && { "aria-current": "page" as const })}
      />
    );
  });
}
