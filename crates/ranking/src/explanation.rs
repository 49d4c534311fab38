use std::fmt;

/// The origin of a number: a tree in which every node's value follows from its children's.
///
/// [`leaf`](Self::leaf), [`sum`](Self::sum) and [`product`](Self::product) create the nodes and
/// compute the value from the children in `f32`, in order; so a tree's arithmetic always gives its
/// value, to the bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The number.
    pub value: f32,
    /// What it is.
    pub description: String,
    /// The numbers that it was computed from.
    pub children: Vec<Explanation>,
}

impl Explanation {
    /// A number that is given, not computed.
    pub fn leaf(value: f32, description: impl Into<String>) -> Self {
        Self { value, description: description.into(), children: Vec::new() }
    }

    /// The sum of its children, from the first to the last.
    pub fn sum(description: impl Into<String>, children: Vec<Self>) -> Self {
        let value = children.iter().fold(0.0, |sum, child| sum + child.value);
        Self { value, description: description.into(), children }
    }

    /// The product of its children, from the first to the last.
    pub fn product(description: impl Into<String>, children: Vec<Self>) -> Self {
        let value = children.iter().fold(1.0, |product, child| product * child.value);
        Self { value, description: description.into(), children }
    }

    /// A number computed from its children as the description states.
    pub fn computed(value: f32, description: impl Into<String>, children: Vec<Self>) -> Self {
        Self { value, description: description.into(), children }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        writeln!(f, "{:depth$}{} = {}", "", self.value, self.description, depth = depth * 2)?;
        self.children.iter().try_for_each(|child| child.write(f, depth + 1))
    }
}

/// One line for each node, children indented by two spaces.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}
