"""Transfer-Maze: four rooms, and sources that each know one of them."""
